"""Everything between a mapped ring and a finished block of statements; knows no other process."""
