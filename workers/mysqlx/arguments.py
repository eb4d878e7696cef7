"""Typed arguments (Mysqlx.Datatypes) in the one form in which bound values leave a worker: see workers.mysql.prepared.

Objects and arrays become JSON text, strings are taken for UTF-8 whatever collation they name.
"""

import json
import struct
from collections.abc import Sequence
from typing import Final

from workers.mysql.errors import StreamViolation
from workers.mysqlx.protobuf import BYTES, VARINT, Field, fields, signed

MOST_ARGUMENTS: Final = 0xFFFF
"""The form has two bytes for their count."""
_MOST_VALUES: Final = 1 << 16
"""In all objects and arrays of one message together."""
_MOST_FIELDS: Final = 16
"""Of a Scalar, an Any and what they are made of; none has more than 8."""
_DEEPEST: Final = 32
_JSON_GROWTH: Final = 8
"""Text may take so many times the bytes of the message it is made of: a control character becomes six."""

# enum_field_types
_TINY, _FLOAT, _DOUBLE, _NULL, _LONGLONG, _JSON, _BLOB, _STRING = 1, 4, 5, 6, 8, 245, 252, 253
_UNSIGNED: Final = 0x80

# Mysqlx.Datatypes.Scalar.Type, and the field that holds the value of each
_SINT, _UINT, _NOTHING, _OCTETS, _REAL, _SINGLE, _BOOL, _TEXT = range(1, 9)
_HOLDER: Final = {_SINT: 2, _UINT: 3, _OCTETS: 5, _REAL: 6, _SINGLE: 7, _BOOL: 8, _TEXT: 9}
# Mysqlx.Datatypes.Any.Type
_SCALAR, _OBJECT, _ARRAY = 1, 2, 3
_PLAIN_TEXT: Final = frozenset({2, 3})  # Mysqlx.Resultset.ContentType_BYTES: JSON, XML

Span = tuple[int, int]
"""Where a value's message begins and ends."""
Bound = tuple[int, int, bytes]
"""Type code, 0x80 where unsigned, and the value as it stands in the form; b"" where it is NULL."""


def bound_values(data: bytes, spans: Sequence[Span], *, scalars: bool) -> bytes:
    """The arguments that stand at *spans*: Any, or Scalar where *scalars* is set.

    Raises StreamViolation where they are none, too many, or too deep.
    """
    if len(spans) > MOST_ARGUMENTS:
        raise StreamViolation(f"{len(spans)} arguments")
    renderer = _Renderer(data, sum(stop - begin for begin, stop in spans))
    found = [scalar(data, *span) if scalars else renderer.argument(*span) for span in spans]
    bitmap = bytearray((len(found) + 7) // 8)
    for index, (code, _, _) in enumerate(found):
        if code == _NULL:
            bitmap[index // 8] |= 1 << index % 8
    types = b"".join(bytes((code, flag)) for code, flag, _ in found)
    return len(found).to_bytes(2, "little") + bytes(bitmap) + types + b"".join(value for *_, value in found)


def scalar(data: bytes, begin: int, stop: int) -> Bound:
    """One Scalar. Raises StreamViolation where it is none."""
    kind, holder = _scalar(data, begin, stop)
    if holder is None:
        return _NULL, 0, b""
    if kind == _SINT:
        return _LONGLONG, 0, struct.pack("<q", signed(holder.value))
    if kind == _UINT:
        return _LONGLONG, _UNSIGNED, struct.pack("<Q", holder.value)
    if kind == _BOOL:
        return _TINY, 0, bytes((holder.value != 0,))
    if kind in {_REAL, _SINGLE}:
        return (_DOUBLE if kind == _REAL else _FLOAT), 0, data[holder.begin : holder.stop]
    text, content = _string(data, holder)
    code = _STRING if kind == _TEXT or content in _PLAIN_TEXT else _BLOB
    return code, 0, lenenc(text)


def _scalar(data: bytes, begin: int, stop: int) -> tuple[int, Field | None]:
    """The type of a Scalar and the field with its value, which NULL has not."""
    found = {each.number: each for each in fields(data, begin, stop, most=_MOST_FIELDS)}
    kind = found[1].value if 1 in found and found[1].kind == VARINT else 0
    if kind == _NOTHING:
        return kind, None
    holder = found.get(_HOLDER.get(kind, 0))
    if holder is None or holder.kind != _WIRE[kind]:
        raise StreamViolation(f"a scalar of type {kind} without its value")
    return kind, holder


_WIRE: Final = {_SINT: VARINT, _UINT: VARINT, _BOOL: VARINT, _OCTETS: BYTES, _TEXT: BYTES, _REAL: 1, _SINGLE: 5}


def _string(data: bytes, holder: Field) -> tuple[bytes, int]:
    """The bytes of a Scalar.String or Scalar.Octets, and their content type or collation."""
    text, content = b"", 0
    for each in fields(data, holder.begin, holder.stop, most=_MOST_FIELDS):
        if each.number == 1 and each.kind == BYTES:
            text = data[each.begin : each.stop]
        elif each.number == 2:
            content = each.value
    return text, content


def lenenc(text: bytes) -> bytes:
    """*text* as a length-encoded string."""
    size = len(text)
    if size < 0xFB:
        return bytes((size,)) + text
    return (b"\xfc" + size.to_bytes(2, "little") if size < 1 << 16 else b"\xfe" + size.to_bytes(8, "little")) + text


def plain_scalar(data: bytes, begin: int, stop: int) -> int | bytes | None:
    """A Scalar that is a whole number, a boolean or a string; None where it is something else.

    Raises StreamViolation where it is none.
    """
    kind, holder = _scalar(data, begin, stop)
    if holder is None or kind in {_REAL, _SINGLE}:
        return None
    if kind in {_TEXT, _OCTETS}:
        return _string(data, holder)[0]
    return signed(holder.value) if kind == _SINT else holder.value


def plain(data: bytes, begin: int, stop: int) -> int | bytes | None:
    """The same of an Any."""
    kind, span = _any(data, begin, stop)
    return plain_scalar(data, *span) if kind == _SCALAR else None


def members(data: bytes, begin: int, stop: int) -> list[tuple[bytes, Span]]:
    """Key and value of each field of an Any that is an object; none where it is something else.

    Raises StreamViolation where it is no Any.
    """
    kind, span = _any(data, begin, stop)
    return _members(data, *span) if kind == _OBJECT else []


def _members(data: bytes, begin: int, stop: int) -> list[tuple[bytes, Span]]:
    found = []
    for each in fields(data, begin, stop):
        if each.number != 1 or each.kind != BYTES:
            continue
        key, value = b"", (each.stop, each.stop)
        for part in fields(data, each.begin, each.stop, most=_MOST_FIELDS):
            if part.kind == BYTES and part.number == 1:
                key = data[part.begin : part.stop]
            elif part.kind == BYTES and part.number == 2:
                value = (part.begin, part.stop)
        found.append((key, value))
    return found


def _any(data: bytes, begin: int, stop: int) -> tuple[int, Span]:
    """The type of an Any, and where the message of that type stands in it, in the field numbered one higher."""
    found = {each.number: each for each in fields(data, begin, stop, most=_MOST_FIELDS)}
    kind = found[1].value if 1 in found and found[1].kind == VARINT else 0
    holder = found.get(kind + 1)
    if kind not in {_SCALAR, _OBJECT, _ARRAY} or holder is None or holder.kind != BYTES:
        raise StreamViolation(f"an argument of type {kind} without its value")
    return kind, (holder.begin, holder.stop)


class _Renderer:
    """Makes bound values of the Anys of one message; what it makes of them all is bounded."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data = data
        self._values = _MOST_VALUES
        self._room = size * _JSON_GROWTH

    def argument(self, begin: int, stop: int) -> Bound:
        kind, span = _any(self._data, begin, stop)
        if kind == _SCALAR:
            return scalar(self._data, *span)
        parts: list[str] = []
        self._nested(kind, span, 0, parts)
        return _JSON, 0, lenenc("".join(parts).encode("utf-8", "replace"))

    def _value(self, span: Span, depth: int, parts: list[str]) -> None:
        kind, inner = _any(self._data, *span)
        if kind == _SCALAR:
            self._put(_json(self._data, inner), parts)
        else:
            self._nested(kind, inner, depth, parts)

    def _nested(self, kind: int, span: Span, depth: int, parts: list[str]) -> None:
        """An object or an array."""
        if depth > _DEEPEST:
            raise StreamViolation(f"an argument of more than {_DEEPEST} levels")
        self._put("{" if kind == _OBJECT else "[", parts)
        if kind == _OBJECT:
            for index, (key, value) in enumerate(_members(self._data, *span)):
                self._put((", " if index else "") + _quoted(key) + ": ", parts)
                self._value(value, depth + 1, parts)
        else:
            elements = [each for each in fields(self._data, *span) if each.number == 1 and each.kind == BYTES]
            for index, element in enumerate(elements):
                self._put(", " if index else "", parts)
                self._value((element.begin, element.stop), depth + 1, parts)
        self._put("}" if kind == _OBJECT else "]", parts)

    def _put(self, text: str, parts: list[str]) -> None:
        self._values -= 1
        self._room -= len(text)
        if self._values < 0 or self._room < 0:
            raise StreamViolation("an argument with too many parts")
        parts.append(text)


def _json(data: bytes, span: Span) -> str:
    """A Scalar as JSON."""
    kind, holder = _scalar(data, *span)
    if holder is None:
        return "null"
    if kind == _SINT:
        return str(signed(holder.value))
    if kind == _UINT:
        return str(holder.value)
    if kind == _BOOL:
        return "true" if holder.value else "false"
    if kind in {_REAL, _SINGLE}:
        number: float = struct.unpack("<d" if kind == _REAL else "<f", data[holder.begin : holder.stop])[0]
        return json.dumps(number)
    return _quoted(_string(data, holder)[0])


def _quoted(text: bytes) -> str:
    return json.dumps(text.decode("utf-8", "replace"), ensure_ascii=False)
