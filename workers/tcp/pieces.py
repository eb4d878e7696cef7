"""Sequence numbers, and the pieces and holes of a stream by them (RFC 9293 section 3.4)."""

from typing import Final

import cython

if not cython.compiled:
    from workers.wire import check, checked_be32


REACH: Final = 0x40000000
"""The largest window (RFC 7323 section 2.3): further ahead no receiver takes a segment, further behind none is sent."""
_WRAP = cython.declare(cython.longlong, 0xFFFFFFFF)
_HALF = cython.declare(cython.longlong, 0x80000000)
_FACTOR = cython.declare(cython.ulonglong, 0x9E3779B1)


@cython.ccall
@cython.exceptval(check=False)
def wrapped(sequence: cython.longlong) -> cython.uint:
    """*sequence* brought back into sequence space."""
    return cython.cast(cython.uint, sequence & _WRAP)


@cython.ccall
@cython.exceptval(check=False)
def distance(later: cython.longlong, earlier: cython.longlong) -> cython.longlong:
    """How far *later* lies behind *earlier* in sequence space, which wraps at 2**32 (RFC 9293 section 3.4)."""
    forward: cython.longlong = (later - earlier) & _WRAP
    return forward if forward < _HALF else forward - _WRAP - 1


@cython.ccall
def mark(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.ulonglong:
    """A number that tells ``data[at:end]`` from bytes that begin, end or are in their middle otherwise.

    A sample of 12 bytes, since it is taken of every segment: the first four, which give a length, are left out of it.
    """
    found: cython.ulonglong = 0
    size: cython.Py_ssize_t = end - at
    if size < 8:
        while at < end:
            found = (found << 8) | data[at]
            at += 1
        return found
    check(data, at, size, end)
    found = checked_be32(data, at + 4)
    found = (found << 32) | checked_be32(data, end - 4)
    return found ^ (checked_be32(data, at + size // 2) * _FACTOR)


@cython.final
@cython.cclass
class Held:
    """A segment that waits for what comes before it; a copy, since the ring block it came in is given back.

    ``seen``: the ``missing`` bytes were delivered before, so they are not lost, though not next in order either.
    """

    sequence: cython.uint
    data: bytes
    missing: cython.longlong
    time_ns: cython.longlong
    acknowledgment: cython.uint
    seen: cython.bint

    def __init__(self, sequence: int, data: bytes, missing: int, time_ns: int, acknowledgment: int = 0) -> None:
        self.seen = False
        self.sequence = sequence
        self.data = data
        self.missing = missing
        self.time_ns = time_ns
        self.acknowledgment = acknowledgment


@cython.final
@cython.cclass
class Hole:
    """Bytes that were given up, *size* of them from *start*.

    ``beyond``: the beginning of what was delivered right behind it. ``copy``: the beginning of what was delivered in
    it, where it was passed over because it had been delivered before.
    """

    start: cython.uint
    size: cython.longlong
    beyond: bytes
    copy: bytes

    def __init__(self, start: int, size: int, beyond: bytes, copy: bytes) -> None:
        self.start = start
        self.size = size
        self.beyond = beyond
        self.copy = copy

    @cython.ccall
    def joined(self, other: "Hole") -> "Hole":
        """Both and what lies between them as one hole."""
        lower: Hole = self
        upper: Hole = other
        apart: cython.longlong = distance(other.start, self.start)
        if apart < 0:
            lower, upper = upper, lower
            apart = -apart
        return Hole(lower.start, max(apart + upper.size, lower.size), b"", b"")
