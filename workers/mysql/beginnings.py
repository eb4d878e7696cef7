"""What the first packet of an answer, or of one of its results, says: page_protocol_command_phase.

Told by the packet's own shape, so that it can be read on a connection whose login was not seen: where definitions can
be left out (CLIENT_OPTIONAL_RESULTSET_METADATA, MARIADB_CLIENT_CACHE_METADATA), the packet with the number of columns
is longer by the byte that says so, and shorter than any OK.
"""

from typing import Final

import cython

from workers.mysql import constants
from workers.mysql.answers import read_eof, read_error, read_ok, read_prepared
from workers.mysql.events import OK, RESULT, Exchange
from workers.wire import lenenc, lenenc_size

if not cython.compiled:
    from workers.wire import u8, u16

NOTHING: Final = 0
"""No beginning of an answer."""
INTERIM: Final = 1
"""A report of progress; the answer is still to come."""
FILE: Final = 2
"""The server asks for a file; the answer comes behind it."""
WHOLE: Final = 3
"""All that there is: an OK, an EOF, an error, statistics."""
MORE: Final = 4
"""An OK or an EOF, and another result behind it."""
COLUMNS: Final = 5
"""The number of columns; their definitions may follow, and rows."""
ROWS: Final = 6
"""The first of rows."""
PREPARED: Final = 7
"""A statement is prepared; definitions may follow."""
STREAM: Final = 8
"""The first of events without an end: replication."""

_NOTHING = cython.declare(cython.int, NOTHING)
_INTERIM = cython.declare(cython.int, INTERIM)
_FILE = cython.declare(cython.int, FILE)
_WHOLE = cython.declare(cython.int, WHOLE)
_MORE = cython.declare(cython.int, MORE)
_COLUMNS = cython.declare(cython.int, COLUMNS)
_ROWS = cython.declare(cython.int, ROWS)
_PREPARED = cython.declare(cython.int, PREPARED)
_STREAM = cython.declare(cython.int, STREAM)

_OK_HEADER = cython.declare(cython.uint, constants.OK_HEADER)
_EOF_HEADER = cython.declare(cython.uint, constants.EOF_HEADER)
_ERR_HEADER = cython.declare(cython.uint, constants.ERR_HEADER)
_LOCAL_INFILE_HEADER = cython.declare(cython.uint, constants.LOCAL_INFILE_HEADER)
_COM_FIELD_LIST = cython.declare(cython.uint, constants.COM_FIELD_LIST)
_COM_STATISTICS = cython.declare(cython.uint, constants.COM_STATISTICS)
_COM_BINLOG_DUMP = cython.declare(cython.uint, constants.COM_BINLOG_DUMP)
_COM_BINLOG_DUMP_GTID = cython.declare(cython.uint, constants.COM_BINLOG_DUMP_GTID)
_COM_TABLE_DUMP = cython.declare(cython.uint, constants.COM_TABLE_DUMP)
_COM_STMT_PREPARE = cython.declare(cython.uint, constants.COM_STMT_PREPARE)
_COM_STMT_FETCH = cython.declare(cython.uint, constants.COM_STMT_FETCH)
_MORE_RESULTS = cython.declare(cython.uint, constants.SERVER_MORE_RESULTS_EXISTS)
_STATUS_OK = cython.declare(cython.uint, OK)
_STATUS_RESULT = cython.declare(cython.uint, RESULT)

_SHORTEST_OK_FOR_EOF = cython.declare(cython.longlong, 7)
"""An OK that stands for an EOF (CLIENT_DEPRECATE_EOF) has two numbers more than its 5 bytes."""
_PREPARE_OK = cython.declare(cython.longlong, 12)
"""Bytes of a COM_STMT_PREPARE_OK; a byte behind them says whether definitions follow."""
_PROGRESS = cython.declare(cython.uint, 0xFFFF)
"""MariaDB's number of an error that is none: page "Progress Reporting"."""
_MOST_COLUMNS = cython.declare(cython.ulonglong, 0xFFFF)
"""Servers have at most 4096 (dev.mysql.com/doc/refman/en/column-count-limit.html)."""


@cython.ccall
def is_progress(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
    """Whether an error is none: it has number 0xFFFF, and behind it not a SQLSTATE but the count of its texts."""
    return end - at > 3 and u16(data, at + 1, end) == _PROGRESS and data[at + 3] == 1


@cython.ccall
def read_end(
    exchange: Exchange, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, length: cython.longlong
) -> cython.bint:
    """Note in *exchange* what an EOF of *length* bytes says, or the OK in its place; whether another result follows."""
    if length >= _SHORTEST_OK_FOR_EOF:
        read_ok(exchange, data, at, end)
    else:
        read_eof(exchange, data, at, end)
    return exchange.server_status & _MORE_RESULTS != 0


@cython.final
@cython.cclass
class Beginning:
    """Reads first packets. ``definitions``: how many follow behind COLUMNS, or of parameters behind PREPARED;
    ``columns``: how many of columns follow these.
    """

    definitions: cython.longlong
    columns: cython.longlong

    def __init__(self) -> None:
        self.definitions = 0
        self.columns = 0

    @cython.ccall
    @cython.exceptval(-1)
    def read(
        self,
        exchange: Exchange,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        length: cython.longlong,
    ) -> cython.int:
        """Note in *exchange* what the payload says that begins its answer, or the next result in it; what it is.

        It has *length* bytes, ``data[at:end]`` is what is there of it. Raises IndexError where too much is missing.
        """
        first: cython.uint = u8(data, at, end)
        command: cython.uint = exchange.command
        self.definitions = self.columns = 0
        if first == _ERR_HEADER:
            if is_progress(data, at, end):
                return _INTERIM
            read_error(exchange, data, at, end)
            return _WHOLE
        if command == _COM_STATISTICS:  # a text without any header
            exchange.status = _STATUS_OK
            return _WHOLE
        if first == _OK_HEADER:
            return self._ok(exchange, data, at, end, length)
        if first == _EOF_HEADER:
            if command == _COM_STMT_FETCH or command == _COM_TABLE_DUMP or command == _COM_FIELD_LIST:
                exchange.status = _STATUS_RESULT  # of no rows
            return _MORE if read_end(exchange, data, at, end, length) else _WHOLE
        if first == _LOCAL_INFILE_HEADER:
            return _FILE
        if command == _COM_FIELD_LIST:  # definitions at once, without their number
            exchange.status = _STATUS_RESULT
            return _ROWS
        return self._count(exchange, data, at, end, length)

    @cython.cfunc
    @cython.exceptval(-1)
    def _ok(
        self,
        exchange: Exchange,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        length: cython.longlong,
    ) -> cython.int:
        """The byte that begins an OK begins other packets too: to some commands rows or events, or columns."""
        command: cython.uint = exchange.command
        if command == _COM_STMT_PREPARE:
            if not read_prepared(exchange, data, at, end):
                return _NOTHING
            if length == _PREPARE_OK or (end - at > _PREPARE_OK and data[at + _PREPARE_OK]):
                self.definitions = exchange.parameter_count
                self.columns = u16(data, at + 5, end)
            return _PREPARED
        if command == _COM_BINLOG_DUMP or command == _COM_BINLOG_DUMP_GTID:
            exchange.status = _STATUS_RESULT
            return _STREAM
        if command == _COM_STMT_FETCH or command == _COM_TABLE_DUMP:
            exchange.status = _STATUS_RESULT
            return _ROWS
        if length == 2 or (length == 4 and u8(data, at + 1, end) == 0xFC):
            return self._count(exchange, data, at, end, length)
        read_ok(exchange, data, at, end)
        return _MORE if exchange.server_status & _MORE_RESULTS else _WHOLE

    @cython.cfunc
    @cython.exceptval(-1)
    def _count(
        self,
        exchange: Exchange,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        length: cython.longlong,
    ) -> cython.int:
        """How many columns there are, and whether definitions follow: MySQL says that before, MariaDB behind.

        MySQL: page_protocol_com_query_response_text_resultset. MariaDB: page "Result Set Packets".
        """
        follow: cython.uint = 1
        size: cython.int = lenenc_size(data, at, end)
        columns: cython.ulonglong = lenenc(data, at, end)
        if length == size + 1 and columns and u8(data, at + size, end) <= 1:
            follow = data[at + size]
        elif columns <= 1 and length > 1 and length == 1 + lenenc_size(data, at + 1, end):
            follow = cython.cast(cython.uint, columns)
            columns = lenenc(data, at + 1, end)
        elif length != size:
            return _NOTHING
        if columns == 0 or columns > _MOST_COLUMNS:
            return _NOTHING
        if follow:
            self.definitions = cython.cast(cython.longlong, columns)
        exchange.status = _STATUS_RESULT
        return _COLUMNS
