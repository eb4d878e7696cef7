"""Query attributes: named values that a client sends beside a statement (MySQL 8.0.23, CLIENT_QUERY_ATTRIBUTES).

page_protocol_com_query, page_protocol_com_stmt_execute. They leave here undecoded, one behind the other: two bytes of
type as of a bound value (type code 6 where it is NULL), the name as a length-encoded string, and the value as on the
wire. ``values.py`` reads them back.
"""

from typing import Final

import cython

from workers.mysql.commands import begins_with_attributes
from workers.mysql.constants import COM_QUERY
from workers.mysql.errors import StreamViolation
from workers.mysql.events import Exchange
from workers.mysql.framing import Framing
from workers.mysql.phases import TEXT, TRAITS
from workers.mysql.prepared import Prepared, skip_value
from workers.wire import lenenc, lenenc_size, u8

_STRING_TYPE: Final = 0xFE  # MYSQL_TYPE_STRING
_NULL_TYPE: Final = b"\x06\0"  # MYSQL_TYPE_NULL
_MOST = cython.declare(cython.ulonglong, 0xFFFF)
_COM_QUERY = cython.declare(cython.Py_ssize_t, COM_QUERY)
_TRAITS = cython.declare(bytes, TRAITS)
_TEXT = cython.declare(cython.uint, TEXT)


@cython.ccall
def text_begins(exchange: Exchange, framing: Framing, attributes: cython.int) -> cython.Py_ssize_t:
    """Where the text of the command in ``framing.data`` begins, once the query attributes before it are taken.

    -1 where it has none, or the payload is cut inside of the attributes, so that nothing of it was kept. *attributes*:
    whether a COM_QUERY has them, -1 where that is not known. Raises StreamViolation or IndexError where they leave the
    packet.
    """
    start: cython.Py_ssize_t = framing.begin + 1
    if framing.finish < start:
        return -1
    number: cython.Py_ssize_t = framing.data[framing.begin]
    if _TRAITS[number] & _TEXT == 0:
        return -1
    if number != _COM_QUERY or attributes == 0:
        return start
    if attributes < 0 and not begins_with_attributes(framing.data, start, framing.finish):
        return start
    try:
        return take_before_text(exchange, framing.data, start, framing.finish)
    except (StreamViolation, IndexError):
        if framing.cut:
            return -1
        raise


@cython.ccall
def take_before_text(
    exchange: Exchange, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Take those of a COM_QUERY; where its SQL begins.

    Raises StreamViolation or IndexError where they leave the packet.
    """
    width: cython.int = lenenc_size(data, at, end)
    count: cython.ulonglong = lenenc(data, at, end)
    at += width
    sets: cython.int = lenenc_size(data, at, end)
    if width == 0 or sets == 0 or count > _MOST:
        raise StreamViolation("query attributes without their count")
    at += sets
    if count == 0:
        return at
    return _take(exchange, data, at, end, cython.cast(cython.Py_ssize_t, count), 0, None)


@cython.ccall
def take_behind_values(
    exchange: Exchange, prepared: Prepared | None, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.int:
    """Take those of an execution, which ``data[at:end]`` is from the count of its values on.

    *prepared*: its statement, which has the first of the values; where it is None, those that have a name are
    attributes, if the packet ends with the last value. Raises StreamViolation or IndexError where they can't be read.
    """
    own: cython.Py_ssize_t = -1 if prepared is None else prepared.parameter_count
    if own == 0 and at == end:
        return 0  # an execution without values need not say how many it brings
    width: cython.int = lenenc_size(data, at, end)
    count: cython.ulonglong = lenenc(data, at, end)
    at += width
    if width == 0 or count > _MOST:
        raise StreamViolation("an execution without the count of its values")
    if count == 0 or (own > 0 and count <= cython.cast(cython.ulonglong, own)):
        return 0
    sent_before: dict[int, list[bytes]] | None = None if prepared is None else prepared.long_data
    at = _take(exchange, data, at, end, cython.cast(cython.Py_ssize_t, count), own, sent_before)
    if own < 0 and at != end:
        exchange.query_attributes = None
        raise StreamViolation("the values of an unknown statement do not end with their packet")
    return 0


@cython.cfunc
def _types(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, count: cython.Py_ssize_t) -> list[int]:
    """Where each of *count* types with a name begins, and where the last one ends."""
    places: list[int] = [at]
    for _index in range(count):
        at = skip_value(data, at + 2, end, _STRING_TYPE)
        places.append(at)
    return places


@cython.cfunc
def _take(
    exchange: Exchange,
    data: bytes,
    at: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    own: cython.Py_ssize_t,
    long_data: dict[int, list[bytes]] | None,
) -> cython.Py_ssize_t:
    """Take those behind the first *own* of *count* values, whose NULL bitmap is at *at*; where the values end."""
    bitmap: cython.Py_ssize_t = at
    at += (count + 7) // 8
    if u8(data, at, end) != 1:
        raise StreamViolation("query attributes without their types")
    at += 1
    types: list[int] = _types(data, at, end, count)
    at = types[count]
    index: cython.Py_ssize_t
    kept: list[bytes] = []
    place: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    wanted: cython.bint
    for index in range(count):
        place = types[index]
        wanted = index >= own
        if own < 0:
            wanted = data[place + 2] != 0  # it has a name
        elif not wanted and long_data is not None and index in long_data:
            continue
        if data[bitmap + index // 8] >> (index % 8) & 1:
            if wanted:
                kept.append(_NULL_TYPE + data[place + 2 : types[index + 1]])
            continue
        stop = skip_value(data, at, end, data[place])
        if wanted:
            kept.append(data[place : types[index + 1]] + data[at:stop])
        at = stop
    if kept:
        exchange.query_attributes = b"".join(kept)
    return at
