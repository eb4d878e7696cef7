"""The only multi-byte reads. Each checks its bounds once, then touches the bytes.

``end`` is where the packet ends that is being read: a read never leaves it, even where the buffer goes on.
MySQL numbers are little-endian (protocol page "Integer Types"), network headers big-endian (RFC 791).

What follows is how Python calls them. Compiled modules take read_ and load_ from wire.pxd under these names, so that
a read is no call; without a compiler these are here.
"""

import cython

if not cython.compiled:
    from collections.abc import Callable
    from typing import Literal

    def check_read(data: bytes, at: int, size: int, end: int) -> int:  # noqa: D103  # check() says it
        if at < 0 or at > end - size or end > len(data):
            raise IndexError("read past the end of the packet")
        return 0

    def _reader(size: int, order: Literal["little", "big"]) -> Callable[[bytes, int, int], int]:
        def read(data: bytes, at: int, end: int) -> int:
            check_read(data, at, size, end)
            return int.from_bytes(data[at : at + size], order)

        return read

    def _loader(size: int) -> Callable[[bytes, int], int]:
        return lambda data, at: int.from_bytes(data[at : at + size], "big")

    read_u8, read_u16, read_u24 = _reader(1, "little"), _reader(2, "little"), _reader(3, "little")
    read_u32, read_u64 = _reader(4, "little"), _reader(8, "little")
    read_be16, read_be32, read_be64 = _reader(2, "big"), _reader(4, "big"), _reader(8, "big")
    load_be16, load_be32 = _loader(2), _loader(4)


@cython.ccall
@cython.exceptval(-1, check=False)
def check(data: bytes, at: cython.Py_ssize_t, size: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
    """Raises IndexError where *size* bytes at *at* do not lie before *end*; behind it checked_ reads may be used."""
    return check_read(data, at, size, end)


@cython.ccall
@cython.exceptval(check=False)
def checked_be16(data: bytes, at: cython.Py_ssize_t) -> cython.uint:
    """As be16, of bytes that check() has been asked about: nothing is looked at here."""
    return load_be16(data, at)


@cython.ccall
@cython.exceptval(check=False)
def checked_be32(data: bytes, at: cython.Py_ssize_t) -> cython.uint:
    """As be32, of bytes that check() has been asked about: nothing is looked at here."""
    return load_be32(data, at)


@cython.ccall
def u8(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.uint:
    """The byte at *at*. Raises IndexError where it does not lie before *end*."""
    return read_u8(data, at, end)


@cython.ccall
def u16(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.uint:
    """Two bytes, little-endian at *at*. Raises IndexError where they do not lie before *end*."""
    return read_u16(data, at, end)


@cython.ccall
def u24(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.uint:
    """Three bytes, little-endian at *at*. Raises IndexError where they do not lie before *end*."""
    return read_u24(data, at, end)


@cython.ccall
def u32(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.uint:
    """Four bytes, little-endian at *at*. Raises IndexError where they do not lie before *end*."""
    return read_u32(data, at, end)


@cython.ccall
def u64(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.ulonglong:
    """Eight bytes, little-endian at *at*. Raises IndexError where they do not lie before *end*."""
    return read_u64(data, at, end)


@cython.ccall
def be16(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.uint:
    """Two bytes, big-endian at *at*. Raises IndexError where they do not lie before *end*."""
    return read_be16(data, at, end)


@cython.ccall
def be32(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.uint:
    """Four bytes, big-endian at *at*. Raises IndexError where they do not lie before *end*."""
    return read_be32(data, at, end)


@cython.ccall
def be64(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.ulonglong:
    """Eight bytes, big-endian at *at*. Raises IndexError where they do not lie before *end*."""
    return read_be64(data, at, end)


@cython.ccall
def lenenc_size(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
    """How many bytes the length-encoded integer at *at* takes: 1, 3, 4 or 9.

    0 where the byte is none: 0xFB (NULL in a row) and 0xFF. Raises IndexError where it does not lie before *end*.
    """
    first: cython.uint = read_u8(data, at, end)
    if first < 0xFB:
        return 1
    if first == 0xFC:
        return 3
    if first == 0xFD:
        return 4
    if first == 0xFE:
        return 9
    return 0


@cython.ccall
def lenenc(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.ulonglong:
    """The length-encoded integer at *at*; 0 where there is none (``lenenc_size`` is 0 there too).

    Raises IndexError where it does not lie before *end*.
    """
    first: cython.uint = read_u8(data, at, end)
    if first < 0xFB:
        return first
    if first == 0xFC:
        return read_u16(data, at + 1, end)
    if first == 0xFD:
        return read_u24(data, at + 1, end)
    if first == 0xFE:
        return read_u64(data, at + 1, end)
    return 0
