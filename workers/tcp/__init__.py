"""TCP as RFC 9293 has it, seen from outside: order, overlap, gaps, and the table of flows."""
