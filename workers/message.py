"""How a block travels from a worker to the aggregator: head and body in one ZeroMQ frame. Pure.

One frame, because the receiving side's limits hold for each frame of a message and not for their sum. Nothing travels
the other way but a receipt for a worker's last block: where a sender ends while the receiver's queue is full, ZeroMQ
forgets what the receiver has not read yet.
"""

from typing import Final

_LENGTH_BYTES: Final = 4

OVERHEAD_BYTES: Final = _LENGTH_BYTES
"""What a message has beside head and body."""


def join(head: bytes, body: bytes) -> bytes:
    """The message: the head's length, little-endian, then head and body."""
    return b"".join((len(head).to_bytes(_LENGTH_BYTES, "little"), head, body))


def split(message: bytes) -> tuple[bytes, bytes]:
    """Head and body; ValueError where the head is longer than the message."""
    if len(message) < _LENGTH_BYTES:
        raise ValueError(f"a message of {len(message)} bytes")
    end = _LENGTH_BYTES + int.from_bytes(message[:_LENGTH_BYTES], "little")
    if end > len(message):
        raise ValueError(f"a message of {len(message)} bytes whose head ends at {end}")
    return message[_LENGTH_BYTES:end], message[end:]


def receipt(incarnation: int) -> bytes:
    """What the aggregator answers once it has taken the final block of that incarnation."""
    return incarnation.to_bytes(_LENGTH_BYTES, "little")
