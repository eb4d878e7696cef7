"""Lets others have the figures, over HTTP."""
