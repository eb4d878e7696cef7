"""What stands in a command's payload: page_protocol_command_phase."""

import re
from typing import Final

import cython

from workers.mysql import charsets
from workers.mysql.constants import COM_STMT_EXECUTE
from workers.mysql.phases import KNOWN, TEXT, TRAITS

if not cython.compiled:
    from workers.wire import u8, u24

_TRAITS = cython.declare(bytes, TRAITS)
_KNOWN = cython.declare(cython.uint, KNOWN)
_COM_STMT_EXECUTE = cython.declare(cython.uint, COM_STMT_EXECUTE)
_TEXT = cython.declare(cython.uint, TEXT)
_USE: Final = re.compile(rb"(?is)\s*use\s+(?:`((?:[^`]|``)+)`|([^\s;`]+))\s*;?\s*\Z")
_SET_CHARSET: Final = re.compile(
    rb"""(?isx) \s* set \s+
    (?: names | char(?:acter)? \s+ set | charset
      | (?: session \s+ | local \s+ | @@ (?:session\.|local\.)? )? character_set_client \s* :?=
    ) \s* ['"]? (\w+)"""
)
_LONGEST_NAME = cython.declare(cython.Py_ssize_t, 256)
"""Of a database: servers take 64 characters (dev.mysql.com/doc/refman/en/identifier-length.html)."""
_LONGEST_SET = cython.declare(cython.Py_ssize_t, 512)
_LOAD: Final = re.compile(rb"(?is)\s*(?:/\*.*?\*/\s*)*load\b")
_MOST_PACKETS = cython.declare(cython.int, 16)
"""How many packets of one segment are looked at before a boundary is believed."""
_LONGEST_GUESS = cython.declare(cython.uint, 64 << 20)


@cython.ccall
def begins_with_attributes(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
    """Whether query attributes stand where SQL would: a small count and one set, which no SQL begins with."""
    return end - at >= 2 and data[at] < 0x20 and data[at + 1] == 1


@cython.ccall
def database_chosen(text: bytes) -> bytes | None:
    """The database that a USE statement moves to; None for any other text."""
    at: cython.Py_ssize_t = 0
    if len(text) > 512:
        return None
    while at < len(text) and (text[at] == 0x20 or 9 <= text[at] <= 13):
        at += 1
    if at + 4 >= len(text) or (text[at] | 0x20) != 0x75 or (text[at + 1] | 0x20) != 0x73:  # "us", not "up"
        return None
    found = _USE.match(text)
    if found is None:
        return None
    quoted: bytes | None = found.group(1)
    if quoted is not None:
        return quoted.replace(b"``", b"`")
    plain: bytes = found.group(2)
    return plain


@cython.ccall
def database_named(text: bytes) -> bytes | None:
    """The database that a COM_INIT_DB moves to; None for what is no name of one."""
    return text if len(text) <= _LONGEST_NAME else None


@cython.ccall
def charset_chosen(text: bytes) -> cython.uint:
    """The character set that a SET NAMES, SET CHARACTER SET or SET character_set_client asks for, as a collation id.

    0 for any other text, and for a character set no server has.
    """
    at: cython.Py_ssize_t = 0
    if len(text) > _LONGEST_SET:
        return 0
    while at < len(text) and (text[at] == 0x20 or 9 <= text[at] <= 13):
        at += 1
    if at + 4 >= len(text) or (text[at] | 0x20) != 0x73 or (text[at + 2] | 0x20) != 0x74:  # "s.t"
        return 0
    found = _SET_CHARSET.match(text)
    if found is None:
        return 0
    return charsets.collation(found.group(1))


def loads_a_file(text: bytes) -> bool:
    """Whether the text may be LOAD DATA: what the client sends next can then be the bytes of a file."""
    return _LOAD.match(text) is not None


@cython.ccall
def is_boundary(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
    """Whether a command can be trusted to begin at *at*, where the stream is out of step or was joined late.

    The packets in the segment must be commands that end with it. The last one may go on in the next segment only
    where it is text that reads like the start of a statement, or an execution.
    """
    length: cython.uint
    number: cython.uint
    _packet: cython.int
    for _packet in range(_MOST_PACKETS):
        if end - at < 5:
            return False
        length = u24(data, at, end)
        number = data[at + 4]
        if length == 0 or length > _LONGEST_GUESS or data[at + 3] != 0:
            return False
        if _TRAITS[cython.cast(cython.Py_ssize_t, number)] & _KNOWN == 0:
            return False
        if at + 4 + cython.cast(cython.Py_ssize_t, length) == end:
            return True
        if at + 4 + cython.cast(cython.Py_ssize_t, length) > end:
            if number == _COM_STMT_EXECUTE:
                return _executes(data, at + 5, end)
            if _TRAITS[cython.cast(cython.Py_ssize_t, number)] & _TEXT == 0:
                return False
            return _reads_like_a_start(data, at + 5, end)
        at += 4 + length
    return True


@cython.cfunc
def _executes(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
    """Whether an execution stands there: behind its id and four flags, a count of iterations that is always 1.

    page_protocol_com_stmt_execute.
    """
    return end - at >= 9 and data[at + 4] <= 0x0F and data[at + 5 : at + 9] == b"\x01\0\0\0"


@cython.cfunc
def _reads_like_a_start(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
    """Whether text begins as statements do: after white space a letter or an opening of a comment or bracket."""
    if begins_with_attributes(data, at, end):
        return True
    while at < end and (data[at] == 0x20 or 9 <= data[at] <= 13):
        at += 1
    if at + 2 > end:
        return False
    first: cython.uint = data[at]
    if first == 0x28 or first == 0x2F or first == 0x2D or first == 0x23 or first == 0x40:  # ( / - # @
        return True
    return 0x61 <= (first | 0x20) <= 0x7A


@cython.ccall
def is_tls_record(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
    """Whether *at* begins a TLS record: RFC 8446 section 5.1, content types 20-23, versions 3.1 to 3.4.

    SSL 3.0 is left out: its records begin as commands of 788 to 791 bytes do.
    """
    if end - at < 5:
        return False
    return 20 <= u8(data, at, end) <= 23 and data[at + 1] == 3 and 1 <= data[at + 2] <= 4
