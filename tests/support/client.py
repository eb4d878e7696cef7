"""A MySQL client that keeps the list of what it sent, and that can prepare statements on the server.

PyMySQL connects and frames packets. What goes into them is made here, so that any bytes can be sent, and prepared
statements too, which PyMySQL does not have: https://mariadb.com/kb/en/com_stmt_execute/.
"""

from __future__ import annotations

import datetime
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self

import pymysql
from pymysql.constants import CLIENT, COMMAND, FIELD_TYPE

from tests.support import serverrules
from tests.support.serverrules import Temporal
from tests.support.statements import Statement

Parameter = None | int | float | Decimal | str | bytes | datetime.datetime | datetime.date | datetime.timedelta

_MORE_RESULTS = 0x0008
_UNSIGNED = 0x8000


if TYPE_CHECKING:
    _Connection = pymysql.Connection[pymysql.cursors.Cursor]
else:
    _Connection = pymysql.Connection  # generic among the stubs only


class _Wire(_Connection):
    """PyMySQL's connection; *commands* is all that it sent, what it says by itself at the start included."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401  # passed on as it is
        self.commands: list[tuple[int, bytes]] = []
        super().__init__(**options)

    def _execute_command(self, command: int, sql: str | bytes) -> None:
        argument = sql.encode(self.encoding) if isinstance(sql, str) else bytes(sql)
        self.commands.append((command, argument))
        super()._execute_command(command, argument)  # type: ignore[misc]  # not among the stubs


class Prepared:
    """A statement that the server has prepared."""

    def __init__(self, number: int, sql: bytes, placeholders: int) -> None:
        self.number = number
        self.sql = sql
        self.placeholders = placeholders
        self.types: list[int] | None = None
        """The types that the server remembers from the last execution that told it any."""
        self.long_data: dict[int, bytes] = {}


class Client:
    """One connection. *sent* lists what it sent in the form that the general log gives it, the goodbye included."""

    def __init__(
        self, port: int, *, user: str, password: str, database: str | None, charset: str = "utf8mb4",
        host: str = "127.0.0.1",
    ) -> None:  # fmt: skip
        self._charset = charset
        self._wire = _Wire(
            host=host, port=port, user=user, password=password, database=database, charset=charset,
            autocommit=None, client_flag=CLIENT.MULTI_STATEMENTS | CLIENT.MULTI_RESULTS,
        )  # fmt: skip
        self._id: int = self._wire.thread_id()  # type: ignore[no-untyped-call]  # so the stubs have it
        self.sent: list[Statement] = []
        for command, argument in self._wire.commands:
            assert command == COMMAND.COM_QUERY
            self._note("Query", serverrules.statement(argument, charset))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Say goodbye."""
        self._note("Quit")
        self._wire.close()

    def query(self, sql: bytes) -> None:
        """Send a query and read all its results. An error is an answer like others."""
        self._command(COMMAND.COM_QUERY, sql)
        self._note("Query", serverrules.statement(sql, self._charset))
        self._read_results()

    def use(self, database: str) -> None:
        """Change the database, by the command of its own; the log does not mention what failed (rule 10)."""
        self._command(COMMAND.COM_INIT_DB, database.encode())
        if self._read_results():
            self._note("Init DB", database.encode())

    def ping(self) -> None:
        """Ask for a sign of life, which the log does not mention."""
        self._command(COMMAND.COM_PING, b"")
        self._read_results()

    def prepare(self, sql: bytes) -> Prepared:
        """Prepare a statement. An error is raised, as pymysql.Error; the log does not mention what failed (rule 10)."""
        self._command(COMMAND.COM_STMT_PREPARE, sql)
        number, columns, placeholders = struct.unpack_from("<IHH", self._packet(), 1)
        for definitions in (placeholders, columns):
            if definitions:
                self._skip(definitions + 1)  # an EOF packet follows
        self._note("Prepare", serverrules.statement(sql, self._charset))
        return Prepared(number, sql, placeholders)

    def execute(self, prepared: Prepared, parameters: Sequence[Parameter] = ()) -> None:
        """Execute and read the result. Types are sent only when they differ from those sent last, as drivers do."""
        bound = [_bind(parameter, serverrules.codec(self._charset)) for parameter in parameters]
        types = [kind for kind, _ in bound]
        body = bytearray(struct.pack("<IBI", prepared.number, 0, 1))
        if bound:
            body += _null_bitmap(parameters)
            if types == prepared.types:
                body += b"\x00"
            else:
                body += b"\x01" + struct.pack(f"<{len(types)}H", *types)
                prepared.types = types
            body += b"".join(data for place, (_, data) in enumerate(bound) if place not in prepared.long_data)
        self._command(COMMAND.COM_STMT_EXECUTE, bytes(body))
        as_logged = [prepared.long_data.get(place, _logged(value)) for place, value in enumerate(parameters)]
        self._note("Execute", serverrules.execution(prepared.sql, as_logged, self._charset))
        prepared.long_data = {}
        self._read_results()

    def send_long_data(self, prepared: Prepared, place: int, data: bytes) -> None:
        """Append to a parameter ahead of its execution; the server does not answer."""
        self._command(COMMAND.COM_STMT_SEND_LONG_DATA, struct.pack("<IH", prepared.number, place) + data)
        prepared.long_data[place] = prepared.long_data.get(place, b"") + data

    def close_prepared(self, prepared: Prepared) -> None:
        """Let the server forget a statement; it does not answer."""
        self._command(COMMAND.COM_STMT_CLOSE, struct.pack("<I", prepared.number))
        self._note("Close stmt")

    def _command(self, command: int, argument: bytes) -> None:
        self._wire._execute_command(command, argument)  # noqa: SLF001  # PyMySQL has no public way to send a command

    def _packet(self) -> bytes:
        """The next packet; what the server complains of is raised."""
        read: Callable[[], Any] = self._wire._read_packet  # noqa: SLF001  # as above
        data: bytes = read()._data  # noqa: SLF001
        return data

    def _skip(self, packets: int) -> None:
        for _ in range(packets):
            self._packet()

    def _read_results(self) -> bool:
        """Read all answers to a command; whether none of them was an error."""
        status = _MORE_RESULTS
        while status & _MORE_RESULTS:
            try:
                first = self._packet()
                status = _ok_status(first) if first[0] == 0 else self._skip_rows(first[0])
            except pymysql.Error:
                return False
        return True

    def _skip_rows(self, columns: int) -> int:
        self._skip(columns + 1)
        while True:
            row = self._packet()
            if row[0] == 0xFE and len(row) < 9:  # an EOF packet
                return int.from_bytes(row[3:5], "little")

    def _note(self, command: str, text: bytes = b"") -> None:
        self.sent.append(Statement(self._id, command, text))


def _ok_status(packet: bytes) -> int:
    """The status flags of an OK packet: after two length-encoded integers."""
    at = 1
    for _ in range(2):
        at += {0xFC: 3, 0xFD: 4, 0xFE: 9}.get(packet[at], 1)
    return int.from_bytes(packet[at : at + 2], "little")


def _null_bitmap(parameters: Sequence[Parameter]) -> bytes:
    bits = sum(1 << place for place, value in enumerate(parameters) if value is None)
    return bits.to_bytes((len(parameters) + 7) // 8, "little")


def _bind(value: Parameter, codec: str) -> tuple[int, bytes]:
    """The type and the bytes of a bound value, as the binary protocol has them."""
    match value:
        case None:
            return FIELD_TYPE.NULL, b""
        case int():
            if value >= 1 << 63:
                return FIELD_TYPE.LONGLONG | _UNSIGNED, struct.pack("<Q", value)
            if -(1 << 31) <= value < 1 << 31:
                return FIELD_TYPE.LONG, struct.pack("<i", value)
            return FIELD_TYPE.LONGLONG, struct.pack("<q", value)
        case float():
            return FIELD_TYPE.DOUBLE, struct.pack("<d", value)
        case Decimal():
            return FIELD_TYPE.NEWDECIMAL, _length_encoded(format(value, "f").encode())
        case str():
            return FIELD_TYPE.VAR_STRING, _length_encoded(value.encode(codec))
        case bytes():
            return FIELD_TYPE.BLOB, _length_encoded(value)
        case datetime.datetime():
            date_and_time = value.timetuple()[:6]
            return FIELD_TYPE.DATETIME, _length_prefixed(struct.pack("<H5B", *date_and_time), value.microsecond)
        case datetime.date():
            return FIELD_TYPE.DATE, b"\x04" + struct.pack("<HBB", value.year, value.month, value.day)
        case datetime.timedelta():
            size = abs(value)
            hour, rest = divmod(size.seconds, 3600)
            parts = struct.pack("<BIBBB", value < datetime.timedelta(), size.days, hour, rest // 60, rest % 60)
            return FIELD_TYPE.TIME, _length_prefixed(parts, size.microseconds)


def _logged(value: Parameter) -> serverrules.Value | Temporal:
    """Rule 6: what the log says of dates and times."""
    match value:
        case datetime.datetime():
            return Temporal("TIMESTAMP", f"{value:%Y-%m-%d %H:%M:%S}" + _fraction(value.microsecond))
        case datetime.date():
            return Temporal("DATE", value.isoformat())
        case datetime.timedelta():
            size = abs(value)
            hours, rest = divmod(size.days * 86400 + size.seconds, 3600)
            sign = "-" if value < datetime.timedelta() else ""
            return Temporal("TIME", f"{sign}{hours:02}:{rest // 60:02}:{rest % 60:02}" + _fraction(size.microseconds))
        case _:
            return value


def _fraction(microseconds: int) -> str:
    return f".{microseconds:06}" if microseconds else ""


def _length_prefixed(parts: bytes, microseconds: int) -> bytes:
    if microseconds:
        parts += struct.pack("<I", microseconds)
    return bytes([len(parts)]) + parts


def _length_encoded(data: bytes) -> bytes:
    size = len(data)
    if size < 251:
        return bytes([size]) + data
    if size < 1 << 16:
        return b"\xfc" + size.to_bytes(2, "little") + data
    return b"\xfd" + size.to_bytes(3, "little") + data
