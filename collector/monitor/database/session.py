"""A connection to a server, kept from poll to poll; why there is none is a word, not an error."""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Mapping
from typing import Any, Final, Literal

import pymysql
from pymysql.cursors import SSDictCursor

from collector.config.option import split_server
from collector.monitor.database.credentials import Credentials
from collector.monitor.database.questions import Server, server_from
from collector.monitor.database.status import Rows
from collector.monitor.database.values import text

Reason = Literal[
    "refused", "absent", "unreachable", "timeout", "denied", "full", "stopping", "lost", "tls", "protocol", "other"
]

MOST_ROWS: Final = 10_000
CONNECT_S: Final = 5
ANSWER_S: Final = 5
"""For which one read of the socket waits; the server itself gives a statement up sooner."""
POLL_S: Final = 15.0
"""Longest poll: after that nothing more is asked in it."""
_SERVER_GIVES_UP_S: Final = 4
_LOCK_S: Final = 2

# MySQL's errors (mysqld_error.h, errmsg.h) by what they mean to one who polls.
_REASONS: Final[Mapping[int, Reason]] = {
    1040: "full", 1203: "full", 1226: "full",
    1044: "denied", 1045: "denied", 1129: "denied", 1130: "denied", 1251: "denied", 1698: "denied", 1820: "denied",
    1862: "denied", 3118: "denied",
    1053: "stopping", 1079: "stopping", 1927: "stopping", 4031: "lost",
    2006: "lost", 2013: "lost", 2014: "lost", 2026: "tls",
}  # fmt: skip
_NO_PROTOCOL: Final = (ValueError, LookupError, TypeError, AttributeError, AssertionError, RuntimeError, struct.error)
"""What PyMySQL raises where a server says what is not MySQL's protocol."""
_TROUBLES: Final = (pymysql.Error, OSError, *_NO_PROTOCOL)


class DownError(Exception):
    """The server does not answer."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason: Reason = reason


class QuestionError(Exception):
    """The server answers, and refuses this question."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Session:
    """Asks one server. Not for several threads at once."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._connection: pymysql.Connection[SSDictCursor] | None = None
        self._until = 0.0
        self.server: Server | None = None
        self.said: tuple[str, str, str] = ("", "", "")
        """innodb_version, version and version_comment."""

    def begin(self, credentials: Credentials) -> bool:
        """Begin a poll; True where that took a new connection. Raises DownError."""
        self._until = time.monotonic() + POLL_S
        if self._connection is not None:
            return False
        try:
            self._connection = _connect(self._address, credentials)
            self._introduce()
        except (DownError, QuestionError, *_TROUBLES) as error:
            self.close()
            raise _down(error) from error
        return True

    def ask(self, sql: str) -> Rows:
        """The rows of an answer, MOST_ROWS at most. Raises DownError and QuestionError."""
        if time.monotonic() > self._until:
            raise DownError("timeout", f"a poll took longer than {POLL_S:.0f} s")
        assert self._connection is not None
        try:
            cursor = self._connection.cursor()
            cursor.execute(sql)
            rows: Rows = cursor.fetchmany(MOST_ROWS)
            if len(rows) < MOST_ROWS:
                cursor.close()
            else:
                self.close()  # closing the cursor would read the rest, however long it is
        except _TROUBLES as error:
            code = _code(error)
            if _of_server(code) and code not in _REASONS:
                raise QuestionError(code, str(error)) from error
            self.close()
            raise _down(error) from error
        return rows

    def close(self) -> None:
        """Let go of the connection, without a word to a server that may not answer."""
        if self._connection is not None:
            self._connection._force_close()  # type: ignore[attr-defined]  # noqa: SLF001  # close() sends and may wait
        self._connection = None

    def _introduce(self) -> None:
        (row,) = self.ask("SELECT VERSION() AS version, @@version_comment AS comment, @@log_bin AS binlog")
        version = text(row["version"])
        schema = _optional(self, "SELECT @@performance_schema AS value")
        self.server = server_from(version, schema, row["binlog"])
        self.said = (text(_optional(self, "SELECT @@innodb_version AS value")), version, text(row["comment"]))
        for statement in _limits(self.server):
            self.ask(statement)


def _connect(address: str, credentials: Credentials) -> pymysql.Connection[SSDictCursor]:
    place = split_server(address)
    tls: dict[str, Any] = {}
    if credentials.ca_file and not isinstance(place, str):
        tls = {"ssl": ssl.create_default_context(cafile=credentials.ca_file)}
    connection = pymysql.connect(
        host="localhost" if isinstance(place, str) else place[0],
        user=credentials.user,
        password=credentials.password,
        charset="utf8mb4",
        cursorclass=SSDictCursor,
        autocommit=True,
        read_timeout=ANSWER_S,
        write_timeout=ANSWER_S,
        program_name="querytap",
        defer_connect=True,
        **tls,
    )
    stream = _stream(place)  # PyMySQL leaves the socket open where it cannot connect one
    try:
        if isinstance(place, str):
            connection._secure = True  # type: ignore[attr-defined]  # noqa: SLF001  # as it has it of sockets of its own
        connection.connect(stream)
    except BaseException:
        stream.close()
        raise
    return connection


def _stream(place: str | tuple[str, int]) -> socket.socket:
    if not isinstance(place, str):
        found = socket.create_connection(place, CONNECT_S)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return found
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        found.settimeout(CONNECT_S)
        found.connect(place)
    except BaseException:
        found.close()
        raise
    return found


def _limits(server: Server) -> list[str]:
    """What has the server itself give up a statement that takes long, so that none outlives who asked."""
    wait = f"SET SESSION lock_wait_timeout = {_LOCK_S}"
    if server.mariadb:
        return [wait, f"SET SESSION max_statement_time = {_SERVER_GIVES_UP_S}"]
    if server.version >= (5, 7, 8):
        return [wait, f"SET SESSION max_execution_time = {_SERVER_GIVES_UP_S * 1000}"]
    return [wait]


def _optional(session: Session, sql: str) -> object:
    """The value of a variable that not every server has."""
    try:
        return session.ask(sql)[0]["value"]
    except QuestionError:
        return None


def _code(error: BaseException) -> int:
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


def _of_server(code: int) -> bool:
    """Whether it is the server that says so: clients' own errors are from 2000 to 2999."""
    return 1000 <= code < 2000 or code >= 3000


def _down(error: BaseException) -> DownError:
    if isinstance(error, DownError):
        return error
    return DownError(_reason(error), str(error))


def _reason(error: BaseException) -> Reason:
    cause: BaseException = getattr(error, "original_exception", None) or error
    code = _code(error)
    if isinstance(cause, TimeoutError) or "timed out" in str(error):
        return "timeout"
    if isinstance(cause, ssl.SSLError):
        return "tls"
    if isinstance(cause, ConnectionRefusedError):
        return "refused"
    if isinstance(cause, FileNotFoundError):
        return "absent"
    if isinstance(cause, OSError) and not isinstance(cause, ConnectionError):
        return "unreachable"
    if isinstance(cause, (*_NO_PROTOCOL, pymysql.InternalError)) and not _of_server(code):
        return "protocol"
    return _REASONS.get(code, "other")
