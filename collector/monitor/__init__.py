"""Measures the host and querytap itself, and tells the aggregator."""
