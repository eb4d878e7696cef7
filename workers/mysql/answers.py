"""The packets that begin and end answers: page_protocol_basic_response_packets. Bounded by the packet they come in."""

import cython

from workers.mysql import charsets
from workers.mysql.constants import (
    EOF_HEADER,
    ERR_HEADER,
    OK_HEADER,
    SERVER_QUERY_NO_GOOD_INDEX_USED,
    SERVER_QUERY_NO_INDEX_USED,
    SERVER_QUERY_WAS_SLOW,
    SERVER_SESSION_STATE_CHANGED,
)
from workers.mysql.events import ERROR, NO_GOOD_INDEX_USED, NO_INDEX_USED, OK, RESULT, SLOW, Exchange
from workers.wire import lenenc, lenenc_size

if not cython.compiled:
    from workers.wire import u8, u16, u32

_OK_HEADER = cython.declare(cython.uint, OK_HEADER)
_EOF_HEADER = cython.declare(cython.uint, EOF_HEADER)
_ERR_HEADER = cython.declare(cython.uint, ERR_HEADER)
_OK = cython.declare(cython.uint, OK)
_ERROR = cython.declare(cython.uint, ERROR)
_RESULT = cython.declare(cython.uint, RESULT)
_FLAG_SLOW = cython.declare(cython.uint, SLOW)
_FLAG_NO_INDEX = cython.declare(cython.uint, NO_INDEX_USED)
_FLAG_NO_GOOD_INDEX = cython.declare(cython.uint, NO_GOOD_INDEX_USED)
_WAS_SLOW = cython.declare(cython.uint, SERVER_QUERY_WAS_SLOW)
_NO_INDEX = cython.declare(cython.uint, SERVER_QUERY_NO_INDEX_USED)
_NO_GOOD_INDEX = cython.declare(cython.uint, SERVER_QUERY_NO_GOOD_INDEX_USED)
_STATE_CHANGED = cython.declare(cython.uint, SERVER_SESSION_STATE_CHANGED)
_FULL_EOF = cython.declare(cython.Py_ssize_t, 5)
_SQLSTATE_MARK = cython.declare(cython.uint, 0x23)  # "#"
_MESSAGE_LIMIT = cython.declare(cython.Py_ssize_t, 512)
"""MYSQL_ERRMSG_SIZE: servers write no longer ones."""
_LONGEST_NAME = cython.declare(cython.Py_ssize_t, 256)
"""Of a database: servers take 64 characters (dev.mysql.com/doc/refman/en/identifier-length.html)."""
_U64 = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
_U32 = cython.declare(cython.uint, 0xFFFFFFFF)

# enum_session_state_type
_SYSTEM_VARIABLES = cython.declare(cython.uint, 0)
_SCHEMA = cython.declare(cython.uint, 1)


@cython.ccall
def read_answer(exchange: Exchange, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
    """Note in *exchange* what the packet ``data[at:end]`` answers. False where it is no answer's beginning.

    Raises IndexError where the packet is cut short; *exchange* is as it was then.
    """
    first: cython.uint = u8(data, at, end)
    if first == _OK_HEADER:
        read_ok(exchange, data, at, end)
    elif first == _ERR_HEADER:
        read_error(exchange, data, at, end)
    elif first == _EOF_HEADER:
        read_eof(exchange, data, at, end)
    else:
        if lenenc_size(data, at, end) == 0:
            return False
        exchange.status = _RESULT
    return True


@cython.ccall
def read_ok(exchange: Exchange, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
    """Protocol::OK_Packet in ``data[at:end]``: its header, two length-encoded numbers, status flags, warnings.

    Numbers are added to what earlier results of the same answer brought. Raises IndexError as read_answer().
    """
    at += 1
    size: cython.int = lenenc_size(data, at, end)
    affected_rows: cython.ulonglong = lenenc(data, at, end)
    if size == 0:
        raise IndexError("an OK without its number of rows")
    at += size
    size = lenenc_size(data, at, end)
    last_insert_id: cython.ulonglong = lenenc(data, at, end)
    if size == 0:
        raise IndexError("an OK without its insert id")
    at += size
    exchange.affected_rows = (exchange.affected_rows + affected_rows) & _U64
    if last_insert_id:
        exchange.last_insert_id = last_insert_id
    if exchange.status != _RESULT:
        exchange.status = _OK
    exchange.server_status = 0
    if at + 4 <= end:  # not before 4.1
        _note_status(exchange, u16(data, at, end))
        exchange.warnings = (exchange.warnings + u16(data, at + 2, end)) & _U32
        if exchange.server_status & _STATE_CHANGED:
            _read_changes(exchange, data, at + 4, end)
    return 0


@cython.ccall
def read_eof(exchange: Exchange, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
    """Protocol::EOF_Packet in ``data[at:end]``: warnings and status flags, from 4.1 on."""
    exchange.server_status = 0
    if exchange.status != _RESULT:
        exchange.status = _OK
    if end - at >= _FULL_EOF:
        exchange.warnings = (exchange.warnings + u16(data, at + 1, end)) & _U32
        _note_status(exchange, u16(data, at + 3, end))
    return 0


@cython.cfunc
@cython.exceptval(-1)
def _note_status(exchange: Exchange, status: cython.uint) -> cython.int:
    exchange.server_status = status
    if status & (_WAS_SLOW | _NO_INDEX | _NO_GOOD_INDEX):
        if status & _WAS_SLOW:
            exchange.flags |= _FLAG_SLOW
        if status & _NO_INDEX:
            exchange.flags |= _FLAG_NO_INDEX
        if status & _NO_GOOD_INDEX:
            exchange.flags |= _FLAG_NO_GOOD_INDEX
    return 0


@cython.ccall
def read_error(exchange: Exchange, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
    """Protocol::ERR_Packet: a number, from 4.1 on a SQLSTATE, and the message up to the packet's end."""
    exchange.error_code = u16(data, at + 1, end)
    exchange.server_status = 0
    at += 3
    if end - at >= 6 and u8(data, at, end) == _SQLSTATE_MARK:
        exchange.sqlstate = data[at + 1 : at + 6]
        at += 6
    if end - at > _MESSAGE_LIMIT:
        end = at + _MESSAGE_LIMIT
    exchange.message = data[at:end]
    exchange.status = _ERROR
    return 0


@cython.ccall
def read_prepared(exchange: Exchange, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
    """Note in *exchange* the statement id and the number of parameters of a COM_STMT_PREPARE_OK.

    False where the packet is none: page_protocol_com_stmt_prepare, 12 bytes. Raises IndexError where it is cut short.
    """
    if end - at < 12 or u8(data, at, end) != _OK_HEADER:
        return False
    exchange.statement_id = u32(data, at + 1, end)
    exchange.parameter_count = u16(data, at + 7, end)
    exchange.warnings = u16(data, at + 10, end)
    exchange.status = _OK
    return True


# --- session state


@cython.cfunc
def _read_changes(exchange: Exchange, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
    """What the OK says has changed in the session (CLIENT_SESSION_TRACK): a text for people, then a list by type.

    What is cut short or contradicts itself is passed over: the rest of the packet was sound.
    """
    kind: cython.uint
    stop: cython.Py_ssize_t
    try:
        at = _behind(data, at, end)
        stop = _behind(data, at, end)
        at += lenenc_size(data, at, end)
        while at < stop:
            kind = u8(data, at, stop)
            end = _behind(data, at + 1, stop)
            at += 1 + lenenc_size(data, at + 1, stop)
            if kind == _SCHEMA:
                _changed_schema(exchange, data, at, end)
            elif kind == _SYSTEM_VARIABLES:
                _changed_variables(exchange, data, at, end)
            at = end
    except IndexError:
        pass
    return 0


@cython.cfunc
def _behind(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Where the length-encoded string at *at* ends. Raises IndexError where that is not before *end*."""
    size: cython.int = lenenc_size(data, at, end)
    length: cython.ulonglong = lenenc(data, at, end)
    at += size
    if size == 0 or length > cython.cast(cython.ulonglong, end - at):
        raise IndexError("a string is longer than its packet")
    return at + cython.cast(cython.Py_ssize_t, length)


@cython.cfunc
def _changed_schema(exchange: Exchange, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
    stop: cython.Py_ssize_t = _behind(data, at, end)
    at += lenenc_size(data, at, end)
    if stop - at <= _LONGEST_NAME:
        exchange.moves_to = data[at:stop]
        exchange.confirmed = True
    return 0


@cython.cfunc
def _changed_variables(exchange: Exchange, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
    """Names and values in turn; MySQL sends one pair, MariaDB as many as there are."""
    value: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    collation: cython.uint
    while at < end:
        value = _behind(data, at, end)
        stop = _behind(data, value, end)
        at += lenenc_size(data, at, end)
        if data[at:value] == b"character_set_client":
            collation = charsets.collation(data[value + lenenc_size(data, value, end) : stop])
            if collation:
                exchange.sets_charset = collation
                exchange.confirmed = True
        at = stop
    return 0
