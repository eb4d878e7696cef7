"""Statement columns: exchanges in, one block out. The form is specified in docs/block-format.md; records.py reads it.

A column of numbers is written as byte planes: all lowest bytes, then all second ones, as many as its largest value
needs, and none where all are zero. That is small before it is compressed, and smaller afterwards.
"""

import sys
from array import array
from collections.abc import Mapping
from typing import Final

import cython
import msgpack

from workers.mysql.events import Exchange, Session

if not cython.compiled:
    from workers.memory import copy_into

FORMAT: Final = 1

_SLOT: Final = 8  # bytes
_FIRST_ROWS: Final = 512
_MOST_ROWS = cython.declare(cython.Py_ssize_t, 16384)
_MOST_BYTES = cython.declare(cython.Py_ssize_t, 768 << 10)
"""A block is closed at this size, so that with the statement that crosses it it stays around 1 MiB."""
_FIRST_BYTES: Final = 1 << 16
_ERROR_STATE: Final = 5  # length of a SQLSTATE
QUERY_HEADER: Final = 5
"""Bytes of a COM_QUERY beside its text: the packet's header and the command."""
_QUERY_HEADER = cython.declare(cython.ulonglong, QUERY_HEADER)


@cython.final
@cython.cclass
class Column:
    """A column of unsigned numbers below 2**64; rows not set are 0."""

    largest: cython.ulonglong
    _room: cython.Py_ssize_t

    def __init__(self) -> None:
        self.largest = 0
        self._room = _FIRST_ROWS
        self._numbers = array("Q", bytes(_FIRST_ROWS * _SLOT))
        self._slots = self._numbers  # compiled: a typed view of it, so that a store is a store

    @cython.boundscheck(False)  # below _room, which is how many slots there are
    @cython.wraparound(False)
    @cython.initializedcheck(False)
    @cython.cfunc
    @cython.exceptval(-1)
    def set(self, row: cython.Py_ssize_t, value: cython.ulonglong) -> cython.int:
        """Make *value* the number of *row*."""
        if value == 0:
            return 0
        while row >= self._room:
            self._grow()
        self.largest |= value
        self._slots[row] = value
        return 0

    @cython.cfunc
    def reset(self, row: cython.Py_ssize_t) -> cython.bint:
        """Make the number of *row* 0 again; whether it was another."""
        if row >= self._room or self._slots[row] == 0:
            return False
        self._slots[row] = 0
        return True

    @cython.cfunc
    def _grow(self) -> cython.int:
        self._numbers = array("Q", self._numbers.tobytes() + bytes(self._room * _SLOT))
        self._slots = self._numbers
        self._room *= 2
        return 0

    def planes(self, rows: int) -> bytes:
        """The first *rows* numbers as byte planes, lowest first, up to the last that is not all zero."""
        if self.largest == 0:
            return b""
        while rows > self._room:
            self._grow()
        numbers = self._numbers[:rows]
        if sys.byteorder == "big":
            numbers.byteswap()
        stored = numbers.tobytes()
        return b"".join([stored[plane::_SLOT] for plane in range(_bytes_needed(self.largest))])

    @cython.boundscheck(False)
    @cython.wraparound(False)
    @cython.initializedcheck(False)
    @cython.cfunc
    def _clear(self, rows: cython.Py_ssize_t) -> cython.int:
        """Forget the first *rows* numbers; the room stays."""
        row: cython.Py_ssize_t
        if self.largest:
            for row in range(min(rows, self._room)):
                self._slots[row] = 0
            self.largest = 0
        return 0


@cython.final
@cython.cclass
class Texts:
    """Bytes one behind the other; the room for them stays when they are forgotten, unless it was uncommonly much."""

    size: cython.Py_ssize_t
    _room: bytearray

    def __init__(self) -> None:
        self.size = 0
        self._room = bytearray(_FIRST_BYTES)

    @cython.cfunc
    @cython.exceptval(-1)
    def add(self, text: bytes) -> cython.int:
        """Put *text* behind the others."""
        end: cython.Py_ssize_t = self.size + len(text)
        if end > len(self._room):
            self._room += bytes(end)
        copy_into(self._room, self.size, text)
        self.size = end
        return 0

    def joined(self) -> memoryview:
        """All of them, until something is added or forgotten."""
        return memoryview(self._room)[: self.size]

    @cython.cfunc
    def _clear(self) -> cython.int:
        self.size = 0
        if len(self._room) > 2 * _MOST_BYTES:
            self._room = bytearray(_FIRST_BYTES)
        return 0


@cython.cfunc
def _bytes_needed(value: cython.ulonglong) -> cython.int:
    needed: cython.int = 0
    while value:
        value >>= 8
        needed += 1
    return needed


@cython.cfunc
def _zigzag(value: cython.longlong) -> cython.ulonglong:
    """A signed number as an unsigned one, small where its magnitude is: 0, -1, 1, -2 become 0, 1, 2, 3."""
    if value < 0:
        return cython.cast(cython.ulonglong, -(value + 1)) * 2 + 1
    return cython.cast(cython.ulonglong, value) * 2


@cython.final
@cython.cclass
class BlockBuilder:
    """Gathers exchanges until take() makes a block of them. Holds at most about 1 MiB, and one statement beyond.

    ``clock_ns``: how far the clock of the exchanges' times is ahead of the host's monotonic one.
    """

    rows: cython.Py_ssize_t
    opened_ns: cython.longlong
    clock_ns: cython.longlong
    full: cython.bint
    _worker: cython.int
    _incarnation: cython.uint
    _sequence: cython.ulonglong
    _mark: cython.ulonglong
    _bytes: cython.Py_ssize_t
    _first_ns: cython.longlong
    _last_ns: cython.longlong
    _previous_ns: cython.longlong
    _base_ns: cython.longlong
    _errors: cython.ulonglong
    _before: Mapping[str, int]
    _columns: dict[str, Column]
    _time: Column
    _session: Column
    _database: Column
    _command: Column
    _status: Column
    _flags: Column
    _charset: Column
    _error_code: Column
    _warnings: Column
    _statement_id: Column
    _affected_rows: Column
    _last_insert_id: Column
    _latency: Column
    _duration: Column
    _returned: Column
    _bytes_in: Column
    _bytes_out: Column
    _sql_size: Column
    _sql_cut: Column
    _sql_sha256: Column
    _sql_string: Column
    _parameters_size: Column
    _attributes_size: Column
    _error_size: Column
    _sql: Texts
    _parameters: Texts
    _attributes: Texts
    _error: Texts
    _strings: dict[bytes, int]
    _sessions: list[bytes]

    def __init__(self, worker: int, incarnation: int, counters: Mapping[str, int]) -> None:
        """*counters*: what the worker had counted when it began; the first block's ``before``."""
        self._worker = worker
        self._incarnation = incarnation
        self._sequence = 0
        self._mark = 0
        self._before = dict(counters)
        self.clock_ns = 0
        self._time = Column()
        self._session = Column()
        self._database = Column()
        self._command = Column()
        self._status = Column()
        self._flags = Column()
        self._charset = Column()
        self._error_code = Column()
        self._warnings = Column()
        self._statement_id = Column()
        self._affected_rows = Column()
        self._last_insert_id = Column()
        self._latency = Column()
        self._duration = Column()
        self._returned = Column()
        self._bytes_in = Column()
        self._bytes_out = Column()
        self._sql_size = Column()
        self._sql_cut = Column()
        self._sql_sha256 = Column()
        self._sql_string = Column()
        self._parameters_size = Column()
        self._attributes_size = Column()
        self._error_size = Column()
        self._sql = Texts()
        self._parameters = Texts()
        self._attributes = Texts()
        self._error = Texts()
        self._columns = self._named_columns()
        self.rows = 0
        self._reset()

    @cython.cfunc
    def _reset(self) -> cython.int:
        column: Column
        for column in self._columns.values():
            column._clear(self.rows)
        self.rows = 0
        self.opened_ns = 0
        self.full = False
        self._mark += 1
        self._bytes = 0
        self._first_ns = self._last_ns = self._previous_ns = self._base_ns = 0
        self._errors = 0
        self._sql._clear()
        self._parameters._clear()
        self._attributes._clear()
        self._error._clear()
        self._strings = {}
        self._sessions = []
        return 0

    @cython.ccall
    @cython.exceptval(-1)
    def add(self, exchange: Exchange, now_ns: cython.longlong) -> cython.int:
        """Write *exchange* as the next row. *now_ns*: what time it is, by the packets."""
        row: cython.Py_ssize_t = self.rows
        if row == 0:
            self.opened_ns = now_ns
            self._first_ns = self._last_ns = self._previous_ns = self._base_ns = exchange.time_ns
        self._first_ns = min(self._first_ns, exchange.time_ns)
        self._last_ns = max(self._last_ns, exchange.time_ns)
        self._time.set(row, _zigzag(exchange.time_ns - self._previous_ns))
        self._previous_ns = exchange.time_ns
        session: Session = exchange.session
        self._session.set(row, self._session_row(session))
        database: bytes | None = exchange.database
        if database is not None:
            if session.database is not database:
                session.database_row = self._string(database)
                session.database = database
            self._database.set(row, session.database_row)
        self._command.set(row, exchange.command)
        self._status.set(row, exchange.status)
        self._flags.set(row, exchange.flags)
        self._charset.set(row, exchange.charset)
        self._statement_id.set(row, exchange.statement_id)
        self._bytes_out.set(row, exchange.bytes_out)
        self._add_text(row, exchange)
        if exchange.status:
            self._add_answer(row, exchange)
        self.rows = row + 1
        self._bytes += 40
        if self._bytes >= _MOST_BYTES or self.rows >= _MOST_ROWS:
            self.full = True
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _add_text(self, row: cython.Py_ssize_t, exchange: Exchange) -> cython.int:
        text: bytes | None = exchange.text
        implied: cython.ulonglong = 0  # bytes of the command that a reader knows from its text
        if text is not None:
            if exchange.prepared:
                self._sql_string.set(row, self._string(text))
            else:
                self._sql_size.set(row, len(text) + 1)
                self._sql.add(text)
                self._bytes += len(text)
                implied = max(exchange.text_length, cython.cast(cython.ulonglong, len(text))) + _QUERY_HEADER
            if exchange.text_length > cython.cast(cython.ulonglong, len(text)):
                self._add_cut(row, exchange, exchange.text_length - len(text))
        if exchange.bytes_in != implied:
            self._bytes_in.set(row, exchange.bytes_in)
        values: bytes | None = exchange.parameters
        if values is not None:
            self._parameters_size.set(row, len(values))
            self._parameters.add(values)
            self._bytes += len(values)
        attributes: bytes | None = exchange.query_attributes
        if attributes is not None:
            self._attributes_size.set(row, len(attributes))
            self._attributes.add(attributes)
            self._bytes += len(attributes)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _add_cut(self, row: cython.Py_ssize_t, exchange: Exchange, missing: cython.ulonglong) -> cython.int:
        """*missing* bytes of the text were not kept."""
        self._sql_cut.set(row, missing)
        digest: bytes | None = exchange.text_sha256
        if digest is not None:
            self._sql_sha256.set(row, self._string(digest))
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _add_answer(self, row: cython.Py_ssize_t, exchange: Exchange) -> cython.int:
        self._latency.set(row, cython.cast(cython.ulonglong, exchange.latency_ns + 1))
        self._duration.set(row, cython.cast(cython.ulonglong, exchange.duration_ns + 1))
        self._returned.set(row, cython.cast(cython.ulonglong, exchange.rows + 1))
        self._warnings.set(row, exchange.warnings)
        self._affected_rows.set(row, exchange.affected_rows)
        self._last_insert_id.set(row, exchange.last_insert_id)
        if exchange.error_code or exchange.message:
            self._errors += 1
            self._error_code.set(row, exchange.error_code)
            said: bytes = exchange.sqlstate.ljust(_ERROR_STATE, b"\0") + exchange.message
            self._error_size.set(row, len(said))
            self._error.add(said)
            self._bytes += len(said)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _string(self, text: bytes) -> cython.ulonglong:
        """The number of *text* among the block's strings, from 1: each is written once."""
        found: int | None = self._strings.get(text)
        if found is None:
            found = len(self._strings) + 1
            self._strings[text] = found
            self._bytes += len(text)
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    def _session_row(self, session: Session) -> cython.ulonglong:
        """Where *session* stands among the block's sessions, from 0."""
        if session.mark != self._mark or session.packed is None:
            if session.packed is None:
                session.packed = _pack_session(session)
            session.mark = self._mark
            session.database = None
            session.row = len(self._sessions)
            self._sessions.append(session.packed)
            self._bytes += len(session.packed)
        return session.row

    def forget_times(self, row: cython.Py_ssize_t) -> int:
        """Leave the times to the answers out from *row* on; how many there were."""
        forgotten: cython.int = 0
        for at in range(row, self.rows):
            forgotten += self._latency.reset(at) | self._duration.reset(at)
        return forgotten

    def take(self, counters: Mapping[str, int], final: bool) -> tuple[bytes, bytes]:
        """The block: its head, and its body, which is empty where no statement is in it. What follows is a new block.

        *counters*: what the worker has counted up to now.
        """
        rows = self.rows
        head: dict[str, object] = {
            "format": FORMAT,
            "worker": self._worker,
            "incarnation": self._incarnation,
            "sequence": self._sequence,
            "first_ns": self._first_ns,
            "last_ns": self._last_ns,
            "clock_ns": self.clock_ns,
            "statements": rows,
            "before": self._before,
            "after": dict(counters),
            "summary": {"errors": self._errors, "sessions": len(self._sessions)},
            "final": final,
        }
        body = b"" if rows == 0 else msgpack.packb(self._body(rows))
        self._before = dict(counters)
        self._sequence += 1
        self._reset()
        return msgpack.packb(head), body

    def _named_columns(self) -> dict[str, Column]:
        """The columns by the names they have in a block."""
        return {
            "time": self._time,
            "session": self._session,
            "database": self._database,
            "command": self._command,
            "status": self._status,
            "flags": self._flags,
            "charset": self._charset,
            "error_code": self._error_code,
            "warnings": self._warnings,
            "statement_id": self._statement_id,
            "affected_rows": self._affected_rows,
            "last_insert_id": self._last_insert_id,
            "latency": self._latency,
            "duration": self._duration,
            "rows": self._returned,
            "bytes_in": self._bytes_in,
            "bytes_out": self._bytes_out,
            "sql_size": self._sql_size,
            "sql_cut": self._sql_cut,
            "sql_sha256": self._sql_sha256,
            "sql_string": self._sql_string,
            "parameters_size": self._parameters_size,
            "query_attributes_size": self._attributes_size,
            "error_size": self._error_size,
        }

    def _body(self, rows: int) -> dict[str, object]:
        columns: dict[str, bytes] = {}
        for name, column in self._columns.items():
            planes = column.planes(rows)
            if planes:
                columns[name] = planes
        return {
            "format": FORMAT,
            "rows": rows,
            "base_ns": self._base_ns,
            "columns": columns,
            "sql": self._sql.joined(),
            "parameters": self._parameters.joined(),
            "query_attributes": self._attributes.joined(),
            "error": self._error.joined(),
            "strings": list(self._strings),
            "sessions": self._sessions,
        }


def _pack_session(session: Session) -> bytes:
    """A session as the msgpack map that records.py reads; what is not known is left out."""
    known: dict[str, object] = {"ends": session.ends, "charset": session.charset}
    if session.connection_id:
        known["connection_id"] = session.connection_id
    if session.server_version is not None:
        known["server_version"] = session.server_version
    if session.user is not None:
        known["user"] = session.user
    if session.attributes:
        known["attributes"] = session.attributes
    states = {"tls": session.encrypted, "compressed": session.compressed, "from_start": session.from_start}
    known |= {name: True for name, holds in states.items() if holds}
    packed: bytes = msgpack.packb(known)
    return packed
