"""Reads what prepared.py, bulk.py and attributes.py took down.

page_protocol_binary_resultset, "Binary Protocol Value".
"""

import enum
import struct
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Final

from workers.mysql.errors import StreamViolation
from workers.mysql.prepared import skip_value
from workers.wire import lenenc_size


class Indicator(enum.Enum):
    """What a row of a bulk execution has in the place of a value: MariaDB's page "COM_STMT_BULK_EXECUTE"."""

    DEFAULT = 2
    """The default of its column."""
    IGNORE = 3
    """Nothing: the column stays as it is."""


Value = int | float | str | bytes | Decimal | None
Row = tuple[Value | Indicator, ...]

_UNSIGNED: Final = 0x80  # in the second byte of a type

# enum_field_types
_DECIMAL, _TINY, _SHORT, _LONG, _FLOAT, _DOUBLE, _NULL, _TIMESTAMP, _LONGLONG, _INT24 = range(10)
_DATE, _TIME, _DATETIME, _YEAR = range(10, 14)
_BIT, _NEWDECIMAL, _STRING, _GEOMETRY = 16, 246, 254, 255
_BLOBS: Final = frozenset({249, 250, 251, 252, _GEOMETRY, _BIT})
_PRESENT, _ABSENT = 0, 1  # indicators of a value that follows, and of NULL

_NUMBERS: Final = {
    _TINY: ("<b", "<B"),
    _SHORT: ("<h", "<H"),
    _YEAR: ("<h", "<H"),
    _LONG: ("<i", "<I"),
    _INT24: ("<i", "<I"),
    _LONGLONG: ("<q", "<Q"),
    _FLOAT: ("<f", "<f"),
    _DOUBLE: ("<d", "<d"),
}


def values(parameters: bytes, decode: Callable[[bytes], str | bytes]) -> tuple[Value, ...]:
    """The values in *parameters*; *decode* makes text of a string's bytes, or leaves them bytes.

    Dates and times come as the server writes them, in text. Raises ValueError where the bytes are not in that form.
    """
    try:
        count = int.from_bytes(parameters[:2], "little")
        types = 2 + (count + 7) // 8
        at = types + 2 * count
        if at > len(parameters):
            raise ValueError("bound values: the types are cut short")
        found: list[Value] = []
        for index in range(count):
            code, flag = parameters[types + 2 * index], parameters[types + 2 * index + 1]
            if parameters[2 + index // 8] >> (index % 8) & 1 or code == _NULL:
                found.append(None)
                continue
            stop = skip_value(parameters, at, len(parameters), code)
            found.append(_value(parameters[at:stop], code, bool(flag & _UNSIGNED), decode))
            at = stop
    except (IndexError, StreamViolation, struct.error) as error:
        raise ValueError(f"bound values: {error}") from error
    return tuple(found)


def rows(parameters: bytes, decode: Callable[[bytes], str | bytes]) -> tuple[Row, ...]:
    """The rows of a bulk execution in *parameters*, as values() otherwise."""
    try:
        count = int.from_bytes(parameters[:2], "little")
        at = 2 + 2 * count
        if at > len(parameters) or (count == 0 and at < len(parameters)):
            raise ValueError("bound rows: the types are cut short")
        types = [(parameters[2 + 2 * index], bool(parameters[3 + 2 * index] & _UNSIGNED)) for index in range(count)]
        found: list[Row] = []
        while at < len(parameters):
            row: list[Value | Indicator] = []
            for code, unsigned in types:
                indicator = parameters[at]
                at += 1
                if indicator != _PRESENT:
                    row.append(None if indicator == _ABSENT else Indicator(indicator))
                    continue
                stop = skip_value(parameters, at, len(parameters), code)
                row.append(None if code == _NULL else _value(parameters[at:stop], code, unsigned, decode))
                at = stop
            found.append(tuple(row))
    except (IndexError, StreamViolation, struct.error) as error:
        raise ValueError(f"bound rows: {error}") from error
    return tuple(found)


def named_values(
    attributes: bytes, decode: Callable[[bytes], str | bytes], decode_name: Callable[[bytes], str]
) -> tuple[tuple[str, Value], ...]:
    """The query attributes in *attributes*, in their order; a name may come more than once.

    A value that is none of its type, such as a date of five bytes, comes as its bytes. Raises ValueError where
    *attributes* is not in that form.
    """
    found: list[tuple[str, Value]] = []
    at, end = 0, len(attributes)
    try:
        while at < end:
            code, flag = attributes[at], attributes[at + 1]
            name_end = skip_value(attributes, at + 2, end, _STRING)
            name = attributes[at + 2 + lenenc_size(attributes, at + 2, end) : name_end]
            at = skip_value(attributes, name_end, end, code)
            found.append((decode_name(name), _value_or_bytes(attributes[name_end:at], code, flag, decode)))
    except (IndexError, StreamViolation) as error:
        raise ValueError(f"query attributes: {error}") from error
    return tuple(found)


def _value_or_bytes(data: bytes, code: int, flag: int, decode: Callable[[bytes], str | bytes]) -> Value:
    if code == _NULL:
        return None
    try:
        return _value(data, code, bool(flag & _UNSIGNED), decode)
    except ValueError:
        return data


def _value(data: bytes, code: int, unsigned: bool, decode: Callable[[bytes], str | bytes]) -> Value:
    if code in _NUMBERS:
        number: int | float = struct.unpack(_NUMBERS[code][unsigned], data)[0]
        return number
    if code in {_DATE, _DATETIME, _TIMESTAMP}:
        return _date(data[1:], code)
    if code == _TIME:
        return _time(data[1:])
    text = data[lenenc_size(data, 0, len(data)) :]
    if code in {_DECIMAL, _NEWDECIMAL}:
        return _decimal(text)
    return bytes(text) if code in _BLOBS else decode(text)


def _decimal(text: bytes) -> Decimal | str:
    try:
        return Decimal(text.decode("ascii"))
    except (InvalidOperation, UnicodeDecodeError):
        return text.decode("latin_1")


def _date(data: bytes, code: int) -> str:
    """A DATE or DATETIME of 0, 4, 7 or 11 bytes: page_protocol_binary_resultset, MYSQL_TYPE_DATETIME.

    Servers pass over the time that some clients send with a DATE.
    """
    if len(data) not in {0, 4, 7, 11}:
        raise ValueError(f"bound values: a date of {len(data)} bytes")
    year, month, day, hour, minute, second, micro = struct.unpack("<HBBBBBI", data.ljust(11, b"\0"))
    text = f"{year:04}-{month:02}-{day:02}"
    if code == _DATE:
        return text
    text += f" {hour:02}:{minute:02}:{second:02}"
    return f"{text}.{micro:06}" if micro else text


def _time(data: bytes) -> str:
    """A TIME of 0, 8 or 12 bytes: sign, days, hours, minutes, seconds, microseconds."""
    if len(data) not in {0, 8, 12}:
        raise ValueError(f"bound values: a time of {len(data)} bytes")
    negative, days, hours, minutes, seconds, micro = struct.unpack("<BIBBBI", data.ljust(12, b"\0"))
    text = f"{'-' if negative else ''}{days * 24 + hours:02}:{minutes:02}:{seconds:02}"
    return f"{text}.{micro:06}" if micro else text
