"""The MySQL client/server protocol seen from outside: bytes in, events out."""
