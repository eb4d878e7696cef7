"""Reads a stream as its caller does."""

from __future__ import annotations

from workers.tcp.stream import DELIVER, Stream

LAST = 0xFFFFFFFF
GAP = b"\0"
"""Stands for a byte declared missing."""


class Reader:
    """Offers segments of a stream that begins at *first*, and gathers what a caller of Stream is to deliver."""

    def __init__(self, first: int = 1000) -> None:
        self.first = first
        self.stream = Stream()
        self.stream.open(first)
        self.delivered = b""

    def offer(self, offset: int, data: bytes, *, missing: int = 0, time_ns: int = 0) -> int:
        """Offer *data* at *offset* of the stream, from the middle of a buffer."""
        buffer = b"##" + data + b"##"
        sequence = (self.first + offset) & LAST
        verdict = self.stream.offer(sequence, buffer, 2, 2 + len(data), missing, time_ns)
        if verdict == DELIVER:
            self.delivered += buffer[self.stream.start : self.stream.stop] + GAP * self.stream.gap
            self.take()
        return verdict

    def take(self) -> None:
        while (held := self.stream.take()) is not None:
            self.delivered += held.data + GAP * held.missing

    def give_up(self) -> int:
        """Give the hole up; how many bytes it has."""
        missing = self.stream.skip()
        self.delivered += GAP * missing
        self.take()
        return missing
