"""Tests of collector.budget."""
