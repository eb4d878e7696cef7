"""Measurements of querytap: generated traffic, the whole process tree beside tcpdump, and the hot path alone."""
