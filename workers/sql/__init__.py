"""SQL text: its shape without its literals."""
