"""One statement as one line, JSON or text. Pure: no file, no clock."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import functools
import json
import math
from collections.abc import Iterable
from typing import Final

from workers.mysql.values import Indicator
from workers.records import Statement, decode_sql

SOURCE: Final = "wire"

_NS: Final = 1_000_000_000
_LATEST: Final = 253402300799  # 9999-12-31T23:59:59Z, the last second RFC 3339 can write

_STATEMENT_KEYS: Final = (
    "status", "error_code", "sqlstate", "error_message", "affected_rows", "last_insert_id", "rows", "warnings",
    "latency_ns", "duration_ns", "bytes_in", "bytes_out",
)  # fmt: skip


def render_json(statement: Statement, host: str, *, raw: bool = False) -> str:
    """The statement as one JSON object without a line end; what is unknown is left out.

    `sql_base64`, the bytes as sent, is there when the text does not decode, and always with *raw*.
    """
    session = statement.session
    record: dict[str, object] = {
        "time": rfc3339(statement.time_ns),
        "host": host or None,
        "source": SOURCE,
        "server": session.server or None,
        "client": session.client or None,
        "connection_id": session.connection_id,
        "user": session.user,
        "database": statement.database,
        "program": session.program,
        "command": statement.command,
    }
    if statement.sql is not None:
        text, clean = decode_sql(statement)
        record["sql"] = text
        if raw or not clean:
            record["sql_base64"] = _base64(statement.sql)
        if statement.original_length > len(statement.sql):
            record["original_length"] = statement.original_length
            record["sql_sha256"] = statement.sql_sha256
    record["parameters"] = parameters_of(statement)
    if statement.parameter_rows is not None:
        record["parameter_rows"] = len(statement.parameter_rows)
    record["query_attributes"] = query_attributes_of(statement)
    record["traceparent"] = statement.traceparent
    record["statement_id"] = statement.statement_id
    record["charset"] = statement.charset
    for key in _STATEMENT_KEYS:
        record[key] = getattr(statement, key)
    if statement.command == "connect" and session.connection_attributes:
        record["connection_attributes"] = session.connection_attributes
    record["flags"] = list(statement.flags)
    return _dump({key: value for key, value in record.items() if value is not None})


def parameters_of(statement: Statement) -> list[object] | None:
    """The bound values in types that JSON has; of an execution in bulk a list of rows."""
    if statement.parameter_rows is not None:
        return [[_parameter(value) for value in row] for row in statement.parameter_rows]
    return None if statement.parameters is None else [_parameter(value) for value in statement.parameters]


def query_attributes_of(statement: Statement) -> dict[str, object] | None:
    """The query attributes by name in types that JSON has; None where there are none."""
    return _by_name(statement.query_attributes) if statement.query_attributes else None


def render_text(statement: Statement) -> str:
    """The statement as one line to read: time, who, what became of it, how long, the text.

    Characters that could move a terminal's cursor or hide text are written as escapes.
    """
    session = statement.session
    who = f"{session.user or '?'}@{session.client or '?'}"
    if statement.database:
        who += f"/{statement.database}"
    connection = "-" if session.connection_id is None else str(session.connection_id)
    parts = [rfc3339(statement.time_ns), who, f"#{connection}", statement.command, _outcome(statement)]
    if statement.latency_ns is not None:
        parts.append(duration(statement.latency_ns))
    if statement.flags:
        parts.append(f"[{','.join(statement.flags)}]")
    if statement.sql is not None:
        parts.append(decode_sql(statement)[0])
    if statement.parameters:
        parts.append("<- " + _literals(statement.parameters))
    if statement.parameter_rows is not None:
        rows = ", ".join(f"({_literals(row)})" for row in statement.parameter_rows)
        parts.append(f"<- {len(statement.parameter_rows)} rows: {rows}")
    if statement.query_attributes:
        named = ", ".join(f"{name}={_literal(value)}" for name, value in statement.query_attributes)
        parts.append(f"{{{named}}}")
    return printable(" ".join(parts))


def rfc3339(time_ns: int) -> str:
    """Nanoseconds since 1970 as RFC 3339 in UTC with nine decimals."""
    seconds, nanoseconds = divmod(time_ns, _NS)
    return f"{_second(max(0, min(seconds, _LATEST)))}.{nanoseconds:09d}Z"


def printable(text: str) -> str:
    """*text* with each control, format or unassigned character as an escape, so that one line stays one line."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escape(character) for character in text)


@functools.lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _outcome(statement: Statement) -> str:
    if statement.status == "error":
        message = f" {statement.error_message}" if statement.error_message else ""
        code = "" if statement.error_code is None else f" {statement.error_code}"
        return f"error{code}{message}"
    if statement.affected_rows is not None:
        return f"{statement.status} {statement.affected_rows} affected"
    return statement.status


def duration(nanoseconds: int) -> str:
    """Short, for eyes: microseconds, milliseconds or seconds."""
    if nanoseconds < 1_000_000:
        return f"{nanoseconds / 1_000:.1f}us"
    if nanoseconds < _NS:
        return f"{nanoseconds / 1_000_000:.1f}ms"
    return f"{nanoseconds / _NS:.3f}s"


def _by_name(attributes: Iterable[tuple[str, object]]) -> dict[str, object]:
    """As an object; where a name comes more than once, it has a list of its values."""
    found: dict[str, list[object]] = {}
    for name, value in attributes:
        found.setdefault(name, []).append(_parameter(value))
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _parameter(value: object) -> object:
    if isinstance(value, bytes | bytearray | memoryview):
        return {"base64": _base64(bytes(value))}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no number for it
    if isinstance(value, Indicator):
        return {"indicator": value.name.lower()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def _literals(values: Iterable[object]) -> str:
    return ", ".join(map(_literal, values))


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, Indicator):
        return value.name
    if isinstance(value, bytes | bytearray | memoryview):
        return f"x'{bytes(value).hex()}'"
    if isinstance(value, int | float | decimal.Decimal):
        return str(value)
    return json.dumps(str(value), ensure_ascii=False)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _dump(record: dict[str, object]) -> str:
    line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    if line.isascii():
        return line
    try:
        line.encode()
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8, but an escape
        return json.dumps(record, separators=(",", ":"))
    return line
