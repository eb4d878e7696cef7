"""Protocol compression: frames of a stream back into the bytes of MySQL packets.

page_protocol_basic_compression_packet: three bytes of compressed length, a sequence id, three bytes of the length
before compression, 0 where the payload is stored as it is. Each frame is compressed by itself, by zlib or by zstd.
"""

import zlib
from typing import Final

import cython
import zstandard

from workers.mysql.framing import Allowance

if not cython.compiled:
    from workers.wire import u8, u24

_HEADER = cython.declare(cython.Py_ssize_t, 7)
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"  # RFC 8878 section 3.1.1
_ZLIB_METHOD = cython.declare(cython.uint, 8)  # RFC 1950 section 2.2: deflate
_LARGEST_WINDOW: Final = 16 << 20


def inflate(data: bytes, limit: int) -> bytes | None:
    """At most *limit* bytes of what *data*, the payload of a frame, was before; None where it is neither zlib nor zstd.

    A payload that is cut short gives what its beginning holds.
    """
    try:
        if data[:4] == _ZSTD_MAGIC:
            reader = zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW).stream_reader(data)
            return reader.read(limit)
        return zlib.decompressobj().decompress(data, limit)
    except (zlib.error, zstandard.ZstdError):
        return None


@cython.ccall
def is_frame(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
    """Whether a compressed frame can begin at *at*: its payload looks like what its header says it is."""
    if end - at <= _HEADER:
        return False
    if u24(data, at, end) == 0:
        return False
    if u24(data, at + 4, end) == 0:
        return True  # stored: what is inside decides
    if data[at + 7 : at + 11] == _ZSTD_MAGIC:
        return True
    first: cython.uint = u8(data, at + 7, end)
    if first & 0x0F != _ZLIB_METHOD or end - at == _HEADER + 1:
        return False
    return ((first << 8) | u8(data, at + 8, end)) % 31 == 0  # RFC 1950: its two bytes are a multiple of 31


@cython.final
@cython.cclass
class CompressedFraming:
    """Finds the frames in one direction of a connection and opens them.

    next() moves on by at most one frame. When ``complete`` is set, ``payload`` is what it holds, or None where it can't
    be opened: it is damaged, or there was no room to keep it. ``sequence`` is its sequence id. ``inside``: a frame has
    begun and is not complete.
    """

    complete: cython.bint
    inside: cython.bint
    payload: bytes | None
    sequence: cython.uint
    _allowance: Allowance
    _header: bytes
    _left: cython.longlong
    _plain_length: cython.longlong
    _kept: list[bytes]
    _kept_bytes: cython.longlong
    _overflowed: cython.bint

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._kept = []
        self._kept_bytes = 0
        self.sequence = 0
        self.reset()

    @cython.ccall
    def reset(self) -> cython.int:
        """Forget what is unfinished: the next byte begins a frame."""
        self._let_go()
        self.complete = False
        self.inside = False
        self.payload = None
        self._header = b""
        self._left = 0
        self._plain_length = 0
        self._overflowed = False
        return 0

    @cython.cfunc
    def _let_go(self) -> cython.int:
        self._allowance.used -= self._kept_bytes
        self._kept_bytes = 0
        self._kept = []
        return 0

    @cython.ccall
    def next(self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Take bytes from ``data[at:end]`` until a frame is complete or they run out; where to go on."""
        if self.complete:
            self.reset()
        if self._left == 0:
            need: cython.Py_ssize_t = _HEADER - len(self._header)
            piece: cython.Py_ssize_t = need if end - at >= need else end - at
            self._header = self._header + data[at : at + piece]
            self.inside = True
            at += piece
            if len(self._header) < _HEADER:
                return at
            self._left = u24(self._header, 0, _HEADER)
            self._plain_length = u24(self._header, 4, _HEADER)
            self.sequence = u8(self._header, 3, _HEADER)
        take: cython.longlong = end - at
        if take > self._left:
            take = self._left
        self._keep(data[at : at + cython.cast(cython.Py_ssize_t, take)])
        self._left -= take
        if self._left == 0:
            self._open()
        return at + cython.cast(cython.Py_ssize_t, take)

    @cython.cfunc
    def _keep(self, piece: bytes) -> cython.int:
        if self._allowance.used + len(piece) > self._allowance.limit:
            self._overflowed = True
        if self._overflowed or len(piece) == 0:
            return 0
        self._kept.append(piece)
        self._kept_bytes += len(piece)
        self._allowance.used += len(piece)
        return 0

    @cython.cfunc
    def _open(self) -> cython.int:
        """The frame is whole: open it, and check that it holds what its header says."""
        whole: bytes = b"".join(self._kept)
        limit: cython.longlong = self._plain_length
        overflowed: cython.bint = self._overflowed
        self.reset()
        self.complete = True
        if overflowed:
            self.payload = None
        elif limit == 0:
            self.payload = whole
        else:
            plain: bytes | None = inflate(whole, limit + 1)
            self.payload = plain if plain is not None and len(plain) == limit else None
        return 0
