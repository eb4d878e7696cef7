"""A statement as an entry of MySQL's slow query log, for the tools that read such logs. Pure.

The form is the one that pt-query-digest and both servers' mysqldumpslow understand: times in UTC as MariaDB and MySQL
before 5.7 write them, and all that Percona Server adds in the line of Query_time ("The Slow Query Log" in the servers'
manuals). What is not on the wire is 0.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

from collector.reading.lines import printable
from workers.records import OF_SQL, Statement, decode_sql

_NS: Final = 1_000_000_000
_LATEST: Final = 253402300799  # 9999-12-31T23:59:59Z
_LINE_OF_A_COMMENT: Final = re.compile(r"\n(?=#)")
_PREPARES: Final = frozenset({"stmt_prepare", "x_prepare"})


def render_slow_log(statement: Statement) -> str:
    """The entry, without a line end."""
    moment = dt.datetime.fromtimestamp(min(statement.time_ns // _NS, _LATEST), dt.UTC)
    session = statement.session
    user = _word(session.user or "")
    address, _, _ = session.client.rpartition(":")
    taken_ns = statement.duration_ns if statement.duration_ns is not None else statement.latency_ns or 0
    lines = [
        f"# Time: {moment:%y%m%d} {moment.hour:2}:{moment:%M:%S}",
        f"# User@Host: {user}[{user}] @  [{address.strip('[]')}]  Id: {session.connection_id or 0:5}",
        f"# Query_time: {_seconds(taken_ns)}  Lock_time: 0.000000  Rows_sent: {statement.rows or 0}"
        f"  Rows_examined: 0  Rows_affected: {statement.affected_rows or 0}  Bytes_sent: {statement.bytes_out or 0}"
        f"  Last_errno: {statement.error_code or 0}",
    ]
    if statement.database:
        lines.append(f"use {_word(statement.database)};")
    lines += [f"SET timestamp={statement.time_ns // _NS};", _text(statement)]
    return "\n".join(lines)


def _text(statement: Statement) -> str:
    if statement.sql is None or statement.command not in OF_SQL - _PREPARES:
        name = statement.command.removeprefix("stmt_").replace("_", " ")
        return f"# administrator command: {name[:1].upper()}{name[1:]};"
    # A line of the text that begins with # would be taken for the head of another entry.
    text = _LINE_OF_A_COMMENT.sub("\n ", decode_sql(statement)[0].rstrip("; \t\r\n"))
    return f" {text};" if text.startswith("#") else f"{text};"


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds // _NS}.{nanoseconds % _NS // 1000:06d}"


def _word(name: str) -> str:
    """A name as it can stand in a line of words."""
    return printable(re.sub(r"[\s;\[\]]", "_", name))
