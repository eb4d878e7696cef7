"""Reads a block back into statements. The form is specified in docs/block-format.md; blocks.py writes it.

A block may come from an archive that anyone could have written: everything is checked, nothing is believed.
"""

import functools
import ipaddress
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgpack

from workers.blocks import FORMAT
from workers.mysql import charsets
from workers.mysql.errors import StreamViolation
from workers.mysql.events import FLAG_NAMES
from workers.mysql.handshake import pairs
from workers.mysql.values import Indicator, Row, Value, named_values, rows, values
from workers.mysqlx import phases
from workers.sql import tracecontext

MOST_ROWS: Final = 1 << 18
"""No block has more; a body that says so is not one of ours."""
_ENDS: Final = struct.Struct("<QQHQQH")
_STATUS: Final = ("unknown", "ok", "error", "result")
_WITH_STATEMENT: Final = phases.WITH_STATEMENT | {
    "stmt_prepare", "stmt_execute", "stmt_bulk_execute", "stmt_close", "stmt_reset", "stmt_fetch",
}  # fmt: skip
_IN_ROWS: Final = "stmt_bulk_execute"
_OF_SQL: Final = frozenset({
    "query", "stmt_prepare", "stmt_execute", "stmt_bulk_execute", "x_prepare", "x_execute", "x_cursor_open",
})  # fmt: skip
"""Commands whose text is SQL; that of others is a name."""
_WITHOUT_EFFECT: Final = phases.WITHOUT_EFFECT | {"stmt_prepare"}
_MOST_KEYS: Final = 256
_PLANES: Final = 8
_T = TypeVar("_T")
_ERROR_STATE: Final = 5
_DIGEST: Final = 32  # bytes


class BlockError(ValueError):
    """A block's body is not what a worker writes; says what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The connection a statement came on. What is not known is None."""

    client: str
    """``10.0.0.1:4711`` or ``[::1]:4711``."""
    server: str
    connection_id: int | None = None
    server_version: str | None = None
    user: str | None = None
    program: str | None = None
    connection_attributes: dict[str, str]
    tls: bool = False
    compressed: bool = False
    from_start: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One command of a client and what became of it. What is not known is None."""

    time_ns: int
    """When its last byte was captured: UTC, ns since 1970."""
    session: Session
    command: str
    sql: bytes | None = None
    parameters: tuple[Value, ...] | None = None
    parameter_rows: tuple[Row, ...] | None = None
    """Of a bulk execution, in the place of ``parameters``; where it is truncated, those that were kept."""
    query_attributes: tuple[tuple[str, Value], ...] | None = None
    """Names and values, in the order in which they were sent; a name may come more than once."""
    statement_id: int | None = None
    database: str | None = None
    charset: str | None = None
    status: str = "unknown"
    error_code: int | None = None
    sqlstate: str | None = None
    error_message: str | None = None
    affected_rows: int | None = None
    last_insert_id: int | None = None
    rows: int | None = None
    warnings: int | None = None
    latency_ns: int | None = None
    duration_ns: int | None = None
    bytes_in: int | None = None
    bytes_out: int | None = None
    flags: tuple[str, ...] = ()
    original_length: int = 0
    """Of the text, in bytes; more than ``len(sql)`` where it is truncated."""
    sql_sha256: str | None = None
    """Where the text is cut at the limit on kept text: of all its bytes as they were sent, in hexadecimal digits."""

    def bound(self) -> Iterator[Value | Indicator]:
        """All bound values, row after row."""
        yield from self.parameters or ()
        for row in self.parameter_rows or ():
            yield from row

    @property
    def traceparent(self) -> str | None:
        """The W3C trace context that was sent with it, as a query attribute or else in a comment of its text.

        Found anew each time.
        """
        for name, value in self.query_attributes or ():
            if name == tracecontext.NAME and isinstance(value, str) and (found := tracecontext.parse(value)):
                return found
        if self.command not in _OF_SQL:
            return None
        return tracecontext.in_comments(decode_sql(self)[0], whole="truncated" not in self.flags)


def decode_sql(statement: Statement) -> tuple[str, bool]:
    """The statement's text by the session's character set, and whether all of it decoded; "" where there is none.

    What does not decode stands as U+FFFD.
    """
    return _decode(statement.sql or b"", charsets.codec(statement.charset))


def _utf8(text: bytes | None) -> str | None:
    return None if text is None else _decode(text, "utf_8")[0]


def _decode(text: bytes, codec: str) -> tuple[str, bool]:
    try:
        return text.decode(codec), True
    except UnicodeDecodeError:
        return text.decode(codec, "replace"), False


def statements(body: bytes) -> Iterator[Statement]:
    """The statements of a block in the order in which they were finished; none in an empty body.

    Raises BlockError, before the first statement or at the one that is wrong.
    """
    if body:
        yield from _Block(body).statements()


class _Block:
    """The parts of a body, each checked."""

    def __init__(self, body: bytes) -> None:
        parts = _unpack(body)
        if parts.get("format") != FORMAT:
            raise BlockError(f"block format {parts.get('format')!r}, this reader knows {FORMAT}")
        self.rows = _natural(parts, "rows")
        if self.rows > MOST_ROWS:
            raise BlockError(f"a block of {self.rows} rows, at most {MOST_ROWS} can be")
        self._base_ns = _natural(parts, "base_ns")
        self._planes = _part(parts, "columns", dict)
        self._sql = _part(parts, "sql", bytes)
        self._parameters = _part(parts, "parameters", bytes)
        self._attributes = _part(parts, "query_attributes", bytes) if "query_attributes" in parts else b""
        self._error = _part(parts, "error", bytes)
        self._strings: list[bytes] = _list_of_bytes(parts, "strings")
        self._sessions = [_session(packed) for packed in _list_of_bytes(parts, "sessions")]

    def column(self, name: str) -> list[int]:
        """The numbers of a column; zeros where it is left out."""
        planes = self._planes.get(name, b"")
        whole = isinstance(planes, bytes) and len(planes) <= _PLANES * self.rows
        if not whole or (self.rows and len(planes) % self.rows):
            raise BlockError(f"column {name} does not have a whole number of bytes a row")
        if not planes:
            return [0] * self.rows
        slots = bytearray(_PLANES * self.rows)
        for plane in range(len(planes) // self.rows):
            slots[plane::_PLANES] = planes[plane * self.rows : (plane + 1) * self.rows]
        return list(memoryview(bytes(slots)).cast("Q")) if _LITTLE else list(struct.unpack(f"<{self.rows}Q", slots))

    def string(self, number: int) -> bytes | None:
        """The block's string of that number; None for 0."""
        if number > len(self._strings):
            raise BlockError(f"string {number} of {len(self._strings)}")
        return self._strings[number - 1] if number else None

    def statements(self) -> Iterator[Statement]:
        """All rows."""
        time_ns = self._base_ns
        texts = _Cutter("sql", self._sql)
        bound = _Cutter("parameters", self._parameters)
        named = _Cutter("query_attributes", self._attributes)
        errors = _Cutter("error", self._error)
        for row in zip(*map(self.column, _NUMBER_COLUMNS), strict=True):
            number = dict(zip(_NUMBER_COLUMNS, row, strict=True))
            time_ns += _unzigzag(number["time"])
            if not 0 <= time_ns < 1 << 63:
                raise BlockError("a time before 1970 or after 2262")
            if number["session"] >= len(self._sessions):
                raise BlockError(f"session {number['session']} of {len(self._sessions)}")
            text = texts.cut(number["sql_size"] - 1) if number["sql_size"] else self.string(number["sql_string"])
            values_ = bound.cut(number["parameters_size"]) if number["parameters_size"] else None
            attributes = named.cut(number["query_attributes_size"])
            error = errors.cut(number["error_size"])
            session = self._sessions[number["session"]]
            yield self._statement(number, time_ns, session, text, values_, attributes, error)

    def _statement(
        self,
        number: dict[str, int],
        time_ns: int,
        session: Session,
        text: bytes | None,
        bound: bytes | None,
        attributes: bytes,
        error: bytes,
    ) -> Statement:
        command = phases.name(number["command"])
        done = number["status"] == 1 and command not in _WITHOUT_EFFECT
        several = number["status"] > 1  # rows or an error, which other results may have come before
        charset = charsets.name(number["charset"])
        failed = bool(error or number["error_code"])
        return Statement(
            time_ns=time_ns,
            session=session,
            command=command,
            sql=text,
            **_parameters(command, bound, charsets.codec(charset)),
            query_attributes=_attributes(attributes, charsets.codec(charset)) if attributes else None,
            statement_id=number["statement_id"] or None if command in _WITH_STATEMENT else None,
            database=_utf8(self.string(number["database"])),
            charset=charset,
            status=_STATUS[number["status"]] if number["status"] < len(_STATUS) else _STATUS[0],
            error_code=number["error_code"] if failed else None,
            sqlstate=error[:_ERROR_STATE].decode("latin_1") if error[:_ERROR_STATE].strip(b"\0") else None,
            error_message=_decode(error[_ERROR_STATE:], "utf_8")[0] if failed else None,
            affected_rows=number["affected_rows"] if done or (several and number["affected_rows"]) else None,
            last_insert_id=number["last_insert_id"] or None,
            rows=_known(number, "rows"),
            warnings=number["warnings"] if done or number["rows"] or (several and number["warnings"]) else None,
            latency_ns=_known(number, "latency"),
            duration_ns=_known(number, "duration"),
            bytes_in=number["bytes_in"],
            bytes_out=number["bytes_out"] or None,
            flags=_flags(number["flags"]),
            **_whole(text, number["sql_cut"], self.string(number["sql_sha256"])),
        )


_NUMBER_COLUMNS: Final = (
    "time", "session", "database", "command", "status", "flags", "charset", "error_code", "warnings", "statement_id",
    "affected_rows", "last_insert_id", "latency", "duration", "rows", "bytes_in", "bytes_out", "sql_size", "sql_cut",
    "sql_sha256", "sql_string", "parameters_size", "query_attributes_size", "error_size",
)  # fmt: skip
_LITTLE: Final = struct.pack("=H", 1) == struct.pack("<H", 1)


def _whole(text: bytes | None, cut: int, digest: bytes | None) -> dict[str, Any]:
    """The fields of a statement that tell of its whole text."""
    if digest is not None and len(digest) != _DIGEST:
        raise BlockError(f"a SHA-256 of {len(digest)} bytes")
    return {
        "original_length": 0 if text is None else len(text) + cut,
        "sql_sha256": None if digest is None else digest.hex(),
    }


def _flags(bits: int) -> tuple[str, ...]:
    return tuple(name for bit, name in enumerate(FLAG_NAMES) if bits >> bit & 1)


def _known(number: dict[str, int], name: str) -> int | None:
    """A number that is written with 1 added to it, where there is an answer; None where it is 0."""
    return number[name] - 1 if number["status"] and number[name] else None


class _Cutter:
    """Takes pieces off a column of bytes, one after the other."""

    def __init__(self, name: str, data: bytes) -> None:
        self._name = name
        self._data = data
        self._at = 0

    def cut(self, size: int) -> bytes:
        stop = self._at + size
        if stop > len(self._data):
            raise BlockError(f"column {self._name} ends at {len(self._data)}, a row wants it up to {stop}")
        piece = self._data[self._at : stop]
        self._at = stop
        return piece


def _unpack(body: bytes) -> dict[str, object]:
    try:
        parts = msgpack.unpackb(
            body, raw=False, strict_map_key=True, max_array_len=MOST_ROWS, max_map_len=_MOST_KEYS, max_ext_len=0
        )
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        raise BlockError(f"not a block: {error}") from error
    if not isinstance(parts, dict):
        raise BlockError("not a block: no map")
    return parts


def _natural(parts: dict[str, object], name: str) -> int:
    value = parts.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BlockError(f"{name} is {value!r}, not a number from 0")
    return value


def _part(parts: dict[str, object], name: str, kind: type[_T]) -> _T:
    value = parts.get(name)
    if not isinstance(value, kind):
        raise BlockError(f"{name} is not {kind.__name__}")
    return value


def _list_of_bytes(parts: dict[str, object], name: str) -> list[bytes]:
    found = _part(parts, name, list)
    if not all(isinstance(item, bytes) for item in found):
        raise BlockError(f"{name} holds something else than bytes")
    return found


def _unzigzag(value: int) -> int:
    return value >> 1 if value & 1 == 0 else -(value >> 1) - 1


def _address(high: int, low: int, port: int) -> str:
    address = ipaddress.IPv6Address(high << 64 | low)
    if address.ipv4_mapped is not None:
        return f"{address.ipv4_mapped}:{port}"
    return f"[{address}]:{port}"


def _text(parts: dict[str, object], name: str) -> str | None:
    value = parts.get(name)
    if value is None:
        return None
    if not isinstance(value, bytes):
        raise BlockError(f"{name} of a session is not bytes")
    return _decode(value, "utf_8")[0]


@functools.lru_cache(maxsize=4096)  # blocks of a connection repeat its session
def _session(packed: bytes) -> Session:
    parts = _unpack(packed)
    ends = _part(parts, "ends", bytes)
    if len(ends) != _ENDS.size:
        raise BlockError(f"a session's ends take {len(ends)} bytes, not {_ENDS.size}")
    client_high, client_low, client_port, server_high, server_low, server_port = _ENDS.unpack(ends)
    try:
        attributes = pairs(_part(parts, "attributes", bytes)) if "attributes" in parts else {}
    except StreamViolation:
        attributes = {}  # the client's own fault: what it sent is no list of pairs
    return Session(
        client=_address(client_high, client_low, client_port),
        server=_address(server_high, server_low, server_port),
        connection_id=_natural(parts, "connection_id") if "connection_id" in parts else None,
        server_version=_text(parts, "server_version"),
        user=_text(parts, "user"),
        program=attributes.get("program_name"),
        connection_attributes=attributes,
        tls=parts.get("tls") is True,
        compressed=parts.get("compressed") is True,
        from_start=parts.get("from_start") is True,
    )


def _text_or_bytes(codec: str) -> Callable[[bytes], str | bytes]:
    """Clients bind bytes as strings too."""

    def decode(data: bytes) -> str | bytes:
        text, clean = _decode(data, codec)
        return text if clean else data

    return decode


def _parameters(command: str, bound: bytes | None, codec: str) -> dict[str, Any]:
    """The field of a statement that its bound values belong in; unknown where the client sent them malformed."""
    if bound is None:
        return {}

    try:
        if command == _IN_ROWS:
            return {"parameter_rows": rows(bound, _text_or_bytes(codec))}
        return {"parameters": values(bound, _text_or_bytes(codec))}
    except ValueError:
        return {}  # workers write down what it bound without looking into it


def _attributes(named: bytes, codec: str) -> tuple[tuple[str, Value], ...]:
    try:
        return named_values(named, _text_or_bytes(codec), lambda name: _decode(name, codec)[0])
    except ValueError as error:
        raise BlockError(str(error)) from error  # workers write down only what they could read
