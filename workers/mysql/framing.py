"""MySQL packets out of a stream of segments: page_protocol_basic_packets. Keeps bounded text of unbounded payloads."""

import hashlib
from typing import Any, Final

import cython

from workers.mysql.constants import MAX_PACKET

if not cython.compiled:
    from workers.wire import u24

_MAX_PACKET = cython.declare(cython.uint, MAX_PACKET)
_HEADER: Final = 4
_HEADER_SIZE = cython.declare(cython.int, _HEADER)
_NOTHING_HASHED: Final = hashlib.sha256()
"""Each hash is a copy of it: a worker in its sandbox need not look for an implementation."""

# How much of a payload is kept.
_ALL = cython.declare(cython.int, 0)
_BEGINNING = cython.declare(cython.int, 1)  # what comes behind has no room, and is counted and hashed only
_LOST = cython.declare(cython.int, 2)  # up to a gap


@cython.final
@cython.cclass
class Allowance:
    """How many bytes all that is unfinished in a worker may keep together, and beside it what was prepared.

    ``used`` is to stay within ``limit``, ``remembered`` within half of it; who charges looks to that.
    """

    limit: cython.longlong
    used: cython.longlong
    remembered: cython.longlong

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self.remembered = 0


@cython.final
@cython.cclass
class Framing:
    """Finds the payloads in one direction of a connection; a payload of 16 MiB and more comes in several packets.

    next() moves on by at most one payload. When ``complete`` is set, the payload is ``data[begin:finish]``, in place
    where one segment held it; ``length`` is what the whole had on the wire, ``finish - begin`` what was kept.
    ``sequence`` is the sequence id of its first packet, ``last_sequence`` of its last one.

    next() stops once more where a payload turns out longer than what is kept of it: ``full`` is set, what is kept
    stands in ``data`` as above, and hash_from() can be told from where on a hash of the whole is wanted.
    """

    complete: cython.bint
    data: bytes
    begin: cython.Py_ssize_t
    finish: cython.Py_ssize_t
    length: cython.longlong
    sequence: cython.uint
    last_sequence: cython.uint
    cut: cython.bint
    full: cython.bint
    inside: cython.bint
    _left: cython.longlong
    _continued: cython.bint
    _extent: cython.int
    _header: bytes
    _kept: list[bytes]
    _kept_bytes: cython.longlong
    _keep_limit: cython.longlong
    _hash: Any
    _hashed_from: cython.Py_ssize_t
    _allowance: Allowance

    def __init__(self, keep_limit: int, allowance: Allowance) -> None:
        self._keep_limit = keep_limit
        self._allowance = allowance
        self._kept = []
        self._kept_bytes = 0
        self._hash = None
        self._hashed_from = 0
        self.reset()

    @cython.ccall
    def reset(self) -> cython.int:
        """Forget what is unfinished: the next byte begins a payload."""
        self.reset_payload()
        self.full = False
        self.begin = self.finish = 0
        self.sequence = self.last_sequence = 0
        self._left = 0
        self._continued = False
        self._header = b""
        return 0

    @cython.ccall
    @cython.exceptval(-1)
    def next(self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Take bytes from ``data[at:end]`` until a payload is complete or full, or they run out; where to go on."""
        size: cython.longlong
        here: cython.Py_ssize_t
        if self.complete:
            self.reset_payload()
        # The usual case: a payload begins and ends in this segment.
        if self._left == 0 and not self.inside and end - at >= _HEADER_SIZE:
            size = u24(data, at, end)
            here = at + _HEADER_SIZE
            if here + size <= end and size != _MAX_PACKET:
                self.sequence = self.last_sequence = data[at + 3]
                self.length = size
                self.data = data
                self.begin = here
                self.finish = here + size
                if size > self._keep_limit:
                    self.finish = here + cython.cast(cython.Py_ssize_t, self._keep_limit)
                    self.cut = True
                self.complete = True
                return here + cython.cast(cython.Py_ssize_t, size)
        self.full = False
        if self._left == 0:
            at = self._read_header(data, at, end)
            if self._header:
                return at
        return self._collect(data, at, end)

    @cython.ccall
    @cython.exceptval(-1)
    def reset_payload(self) -> cython.int:
        """Let go of the payload that was complete."""
        self.complete = False
        self.inside = False
        self.cut = False
        self._extent = _ALL
        self.length = 0
        self.data = b""
        self._allowance.used -= self._kept_bytes
        self._kept_bytes = 0
        if self._kept:
            self._kept = []
            self._hash = None
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _read_header(self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Take a packet header that may come in pieces; ``_header`` stays non-empty while it is not whole."""
        need: cython.Py_ssize_t = _HEADER_SIZE - len(self._header)
        piece: cython.Py_ssize_t = need if end - at >= need else end - at
        header: bytes = self._header + data[at : at + piece]
        if len(header) < _HEADER_SIZE:
            self._header = header
            self.inside = True
            return end
        self._header = b""
        self._left = u24(header, 0, 4)
        self._continued = self._left == _MAX_PACKET
        self.last_sequence = header[3]
        if self.length == 0 and not self._kept:
            self.sequence = header[3]
        self.inside = True
        self.length += self._left
        return at + piece

    @cython.cfunc
    @cython.exceptval(-1)
    def _collect(self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        take: cython.longlong = end - at
        if take > self._left:
            take = self._left
        if self._extent == _ALL:
            take = self._keep(data, at, take)
        elif self._hash is not None:
            self._hash.update(memoryview(data)[at : at + cython.cast(cython.Py_ssize_t, take)])
        self._left -= take
        if self.full:
            self._show()
        elif self._left == 0 and not self._continued:
            self._finish()
        return at + cython.cast(cython.Py_ssize_t, take)

    @cython.cfunc
    @cython.exceptval(-1)
    def _keep(self, data: bytes, at: cython.Py_ssize_t, size: cython.longlong) -> cython.longlong:
        """Keep as many of *size* bytes as there is room for; how many these are."""
        room: cython.longlong = self._keep_limit - self._kept_bytes
        shared: cython.longlong = self._allowance.limit - self._allowance.used
        if shared < room:
            room = shared
        if room < size:
            size = room if room > 0 else 0
            self.cut = self.full = True
            self._extent = _BEGINNING  # what comes later is no continuation of what is kept
        if size == 0:
            return 0
        self._kept.append(data[at : at + cython.cast(cython.Py_ssize_t, size)])
        self._kept_bytes += size
        self._allowance.used += size
        return size

    # --- the hash of what is longer than what is kept

    @cython.ccall
    def hash_from(self, start: cython.Py_ssize_t) -> cython.int:
        """Where ``full``: ``data[start:finish]`` and all of the payload behind it is to be hashed; -1: nothing."""
        if start < 0:
            return 0
        self._hash = _NOTHING_HASHED.copy()
        self._hash.update(memoryview(self.data)[start : self.finish])
        self._hashed_from = start
        return 0

    @cython.ccall
    def sha256(self, start: cython.Py_ssize_t) -> bytes | None:
        """The SHA-256 of a payload that is complete, from ``data[start]`` to its end on the wire, kept or not.

        None where part of it was lost, or where it was not asked for when the payload was ``full``.
        """
        if self._extent == _LOST:
            return None
        whole: cython.longlong = self.begin + self.length
        hashed: Any = self._hash if start == self._hashed_from else None
        if whole <= len(self.data):
            hashed = _NOTHING_HASHED.copy()
            hashed.update(memoryview(self.data)[start : cython.cast(cython.Py_ssize_t, whole)])
        digest: bytes | None = None if hashed is None else hashed.digest()
        return digest

    # --- what is lost

    @cython.ccall
    def gap(self, missing: cython.longlong) -> cython.bint:
        """*missing* bytes never came. True where they lie inside one packet, so that its end is still known.

        What is kept of that payload ends at the gap: ``cut`` is set and nothing behind the gap is kept.
        """
        if self.complete:
            self.reset_payload()
        if self._header or self._left == 0 or missing > self._left:
            return False
        self.cut = True
        self._extent = _LOST
        self._left -= missing
        if self._left == 0 and not self._continued:
            self._finish()
        return True

    @cython.ccall
    def give_up(self) -> cython.bint:
        """Nothing more comes of the payload: what is kept of it is complete, and ``cut``. False where nothing is."""
        if self.complete:
            self.reset_payload()
        if not self._kept:
            return False
        self.cut = True
        self._extent = _LOST
        self._header = b""
        self._left = 0
        self._continued = False
        return self._finish()

    @cython.cfunc
    @cython.exceptval(-1)
    def _finish(self) -> cython.bint:
        """What is kept is the payload."""
        self._show()
        self.complete = True
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def _show(self) -> cython.int:
        """Put what is kept in one piece, into ``data``."""
        if len(self._kept) > 1:
            self._kept = [b"".join(self._kept)]
        self.data = self._kept[0] if self._kept else b""
        self.begin = 0
        self.finish = len(self.data)
        return 0
