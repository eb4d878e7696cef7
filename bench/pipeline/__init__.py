"""The whole process tree on generated traffic over a veth pair, beside tcpdump on the same packets."""
