"""msgpack with every length bounded: what is read here was written by another process. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgpack

MAX_TEXT_BYTES: Final = 4096
MOST_ITEMS: Final = 4096

ARRAY_OF_2: Final = b"\x92"


def pack(value: object) -> bytes:
    """*value* as msgpack; ValueError, TypeError or OverflowError for what has no such form."""
    packed: bytes = msgpack.packb(value)
    return packed


def bin_header(length: int) -> bytes:
    """What stands before a byte string of *length* (bin 32)."""
    return b"\xc6" + length.to_bytes(4, "big")


def unpack_bounded(data: bytes, *, bin_bytes: int) -> Any:  # noqa: ANN401 - msgpack's values are of any type
    """One msgpack value without extension types; ValueError when it is anything else or over a bound."""
    try:
        return msgpack.unpackb(data, **_bounds(bin_bytes))
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(first_line(error)) from error


def unpack_stream(data: bytes, *, bin_bytes: int) -> Iterator[Any]:
    """The msgpack values that stand one after the other in *data*; ValueError as from `unpack_bounded`."""
    unpacker = msgpack.Unpacker(max_buffer_size=len(data) or 1, **_bounds(bin_bytes))
    unpacker.feed(data)
    end = 0
    try:
        for value in unpacker:
            end = unpacker.tell()  # here and not below: of a cut value, too, a part is consumed
            yield value
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(first_line(error)) from error
    if end != len(data):
        raise ValueError("its last value is cut")


def _bounds(bin_bytes: int) -> dict[str, Any]:
    return {
        "raw": False,
        "strict_map_key": True,
        "max_str_len": MAX_TEXT_BYTES,
        "max_bin_len": bin_bytes,
        "max_array_len": MOST_ITEMS,
        "max_map_len": MOST_ITEMS,
        "max_ext_len": 0,
    }


def first_line(error: Exception) -> str:
    """What an error of a library says, in one line; its kind where it says nothing."""
    text = str(error).splitlines()
    return text[0] if text else type(error).__name__
