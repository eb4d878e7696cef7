"""How MariaDB 10.11 writes statements to its general log. tests/README.md lists the rules by the numbers used here."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import NamedTuple

Value = None | int | float | Decimal | str | bytes


class Temporal(NamedTuple):
    """A date or time that is bound to a parameter, whose type the log names."""

    type: str
    """`DATE`, `TIME` or `TIMESTAMP`."""
    text: str


_SPACE = b" \t\n\v\f\r"
_ESCAPES = {0: b"\\0", 10: b"\\n", 13: b"\\r", 26: b"\\Z", 34: b'\\"', 39: b"\\'", 92: b"\\\\"}
_CODECS = {"utf8mb4": "utf-8", "utf8mb3": "utf-8", "utf8": "utf-8", "latin1": "cp1252", "binary": "latin-1"}
_HEX_CHARSETS = frozenset({"big5", "cp932", "gbk", "sjis"})
_UTF8 = frozenset({"utf8mb4", "utf8mb3", "utf8"})

# Everything a scanner for placeholders has to step over, and the placeholder itself.
_TOKEN = re.compile(
    rb"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`[^`]*`|/\*(?!M?!).*?\*/|\#[^\n]*|--(?=[\s\x00-\x1f]|$)[^\n]*|\?""",
    re.DOTALL,
)
_TYPED_LITERAL = re.compile(rb"(?:DATE|TIMESTAMP|TIME)('[-0-9:. ]*')")
_PLAIN_IN_HEX = re.compile(rb"X'((?:3[0-9A]|2[0DE])*)'")  # digits and : space - .
_QUOTED_NUMBER = re.compile(rb"'(-?\d+(?:\.\d+)?)'")


def statement(sql: bytes, charset: str = "utf8mb4") -> bytes:
    """Rule 1: spaces before a statement, and spaces and semicolons after it, are left out."""
    space = _SPACE + (b"\xa0" if charset == "latin1" else b"")
    return sql.lstrip(space).rstrip(space + b";")


def execution(
    sql: bytes,
    parameters: Sequence[Value | Temporal],
    charset: str = "utf8mb4",
    written: Callable[[Value | Temporal, str], bytes] | None = None,
) -> bytes:
    """Rule 2: an execution is written as its text with a literal in the place of each placeholder.

    *written*: how a value is written by another server than this module is about.
    """
    rest = iter(parameters)

    def literal_or_same(found: re.Match[bytes]) -> bytes:
        return (written or literal)(next(rest), charset) if found[0] == b"?" else found[0]

    text = _TOKEN.sub(literal_or_same, statement(sql, charset))
    if next(rest, rest) is not rest:
        raise ValueError(f"more parameters than placeholders: {sql[:200]!r}")
    return text


def literal(value: Value | Temporal, charset: str) -> bytes:
    """Rules 3 to 8, by the type that was bound."""
    if value is None:
        return b"NULL"
    if isinstance(value, Temporal):
        return f"{value.type}'{value.text}'".encode()
    if isinstance(value, int):
        return b"%d" % value
    if isinstance(value, float):
        return double(value)
    if isinstance(value, Decimal):
        return format(value, "f").encode()
    data = value if isinstance(value, bytes) else value.encode(codec(charset))
    return _quoted(data, charset)


def double(value: float) -> bytes:
    """Rule 5: the shortest digits that give the number back; with an exponent below 1e-15 and from 1e15 on."""
    if value == 0:
        return b"0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    point = len(text) + exponent
    if -14 <= point <= 15:
        plain = format(Decimal(repr(value)).normalize(), "f")
        return plain.encode()
    mantissa = text[0] + ("." + text[1:] if text[1:] else "")
    return f"{'-' if sign else ''}{mantissa}e{point - 1}".encode()


def codec(charset: str) -> str:
    """Python's name for a character set of the server."""
    return _CODECS.get(charset, charset)


def without_types(text: bytes) -> bytes:
    """Rule 9: *text* as it would be, did the log not tell dates, times and decimals from strings of the same content.

    A JSON record does not, so both sides of a comparison with one go through this.
    """

    def from_hex(found: re.Match[bytes]) -> bytes:
        return b"'" + bytes.fromhex(found[1].decode()) + b"'"

    return _QUOTED_NUMBER.sub(rb"\1", _TYPED_LITERAL.sub(rb"\1", _PLAIN_IN_HEX.sub(from_hex, text)))


def _quoted(data: bytes, charset: str) -> bytes:
    """Rule 7 (escapes), and rule 8 (hexadecimal in the character sets that have backslashes inside characters)."""
    if charset in _HEX_CHARSETS:
        if not data:
            return b'""'
        return b"X'" + data.hex().upper().encode() + b"'"
    if charset not in _UTF8:
        return b"'" + b"".join(_ESCAPES.get(byte, bytes([byte])) for byte in data) + b"'"
    text = data.decode("utf-8", "surrogateescape")
    return b"'" + b"".join(map(_escaped, text)) + b"'"


def _escaped(character: str) -> bytes:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that belongs to no character
        return bytes([0x5C, code - 0xDC00])
    return _ESCAPES.get(code) or character.encode()
