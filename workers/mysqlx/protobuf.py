"""Reads protobuf's wire format: protobuf.dev/programming-guides/encoding.

Not the protobuf library, for three reasons: it refuses a message whose end was not kept, of which the text is still
wanted; it makes an object of every part, the proof of a login too; and it is a large parser in C fed with hostile
bytes, where these hundred lines copy nothing and stop at bounds of their own.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from workers.mysql.errors import StreamViolation

# Wire types; 3 and 4, groups, are not used by this protocol.
VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5

MOST_FIELDS: Final = 1 << 16
"""Of one message; what has more is not read to its end."""
_FIXED: Final = {FIXED64: 8, FIXED32: 4}
_LONGEST_VARINT: Final = 10
_LARGEST_FIELD: Final = (1 << 29) - 1
_U64: Final = (1 << 64) - 1


class Field(NamedTuple):
    """One field of a message. *value* is a number's, unsigned; of BYTES it is the length they claim.

    ``data[begin:stop]`` are the bytes of BYTES, as far as they are there.
    """

    number: int
    kind: int
    value: int
    begin: int
    stop: int


def fields(data: bytes, at: int, end: int, *, cut: bool = False, most: int = MOST_FIELDS) -> Iterator[Field]:
    """The fields of the message in ``data[at:end]`` in the order in which they stand.

    *cut*: the message goes on behind *end*, but was not kept; the last field may then lack its end. Raises
    StreamViolation where the bytes are no message or it has more than *most* fields, behind what comes before.
    """
    for _ in range(most):
        if at >= end:
            return
        found = _field(data, at, end, cut)
        if found is None:
            return
        yield found
        at = found.stop
    if at < end:
        raise StreamViolation(f"a message of more than {most} fields")


def _field(data: bytes, at: int, end: int, cut: bool) -> Field | None:
    """The field at *at*; None where so little of it was kept that it tells nothing."""
    try:
        tag, at = varint(data, at, end)
        number, kind = tag >> 3, tag & 7
        if not 0 < number <= _LARGEST_FIELD:
            raise StreamViolation(f"field number {number}")
        if kind == VARINT:
            begin = at
            value, at = varint(data, at, end)
            return Field(number, kind, value, begin, at)
        if kind == BYTES:
            value, at = varint(data, at, end)
            return Field(number, kind, value, at, _stop(at, value, end, cut))
        return Field(number, kind, *_fixed(data, at, end, kind))
    except IndexError as error:
        if cut:
            return None
        raise StreamViolation("a message is cut short") from error


def _fixed(data: bytes, at: int, end: int, kind: int) -> tuple[int, int, int]:
    """The number in 4 or 8 bytes at *at*, and where these begin and end."""
    size = _FIXED.get(kind)
    if size is None:
        raise StreamViolation(f"wire type {kind}")
    if size > end - at:
        raise IndexError("a fixed field leaves its message")
    return int.from_bytes(data[at : at + size], "little"), at, at + size


def _stop(at: int, length: int, end: int, cut: bool) -> int:
    if length <= end - at:
        return at + length
    if cut:
        return end
    raise StreamViolation("a field is longer than its message")


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The varint at *at* and where it ends; bits beyond 64 are dropped, as protobuf does.

    Raises IndexError where it leaves ``data[:end]``, StreamViolation where it has more than 10 bytes.
    """
    value = 0
    for index in range(_LONGEST_VARINT):
        if at + index >= end:
            raise IndexError("a varint leaves its message")
        byte = data[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value & _U64, at + index + 1
    raise StreamViolation("a varint of more than 10 bytes")


def signed(value: int) -> int:
    """The number of a sint64 field, which is zigzag encoded."""
    return value >> 1 if value & 1 == 0 else -(value >> 1) - 1
