"""Starts querytap's processes, starts them again when they end, and stops them in order."""
