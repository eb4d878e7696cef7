"""A statement as a row of columns of plain types: what CSV and Parquet have. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from collector.reading.lines import parameters_of, query_attributes_of, rfc3339
from workers.records import Statement, decode_sql

Kind = Literal["time", "text", "number", "unsigned"]
"""`time`: nanoseconds since 1970, UTC; `unsigned` may take all of 64 bits."""


@dataclass(frozen=True, slots=True)
class Field:
    """One column."""

    name: str
    kind: Kind
    value: Callable[[Statement], str | int | None]


def _sql(statement: Statement) -> str | None:
    return None if statement.sql is None else decode_sql(statement)[0]


def _dumped(value: object) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


FIELDS: Final = (
    Field("time", "time", lambda one: one.time_ns),
    Field("client", "text", lambda one: one.session.client or None),
    Field("server", "text", lambda one: one.session.server or None),
    Field("connection_id", "unsigned", lambda one: one.session.connection_id),
    Field("user", "text", lambda one: one.session.user),
    Field("database", "text", lambda one: one.database),
    Field("program", "text", lambda one: one.session.program),
    Field("command", "text", lambda one: one.command),
    Field("status", "text", lambda one: one.status),
    Field("error_code", "number", lambda one: one.error_code),
    Field("sqlstate", "text", lambda one: one.sqlstate),
    Field("error_message", "text", lambda one: one.error_message),
    Field("affected_rows", "unsigned", lambda one: one.affected_rows),
    Field("last_insert_id", "unsigned", lambda one: one.last_insert_id),
    Field("rows", "unsigned", lambda one: one.rows),
    Field("warnings", "number", lambda one: one.warnings),
    Field("latency_ns", "number", lambda one: one.latency_ns),
    Field("duration_ns", "number", lambda one: one.duration_ns),
    Field("bytes_in", "unsigned", lambda one: one.bytes_in),
    Field("bytes_out", "unsigned", lambda one: one.bytes_out),
    Field("statement_id", "unsigned", lambda one: one.statement_id),
    Field("charset", "text", lambda one: one.charset),
    Field("flags", "text", lambda one: ",".join(one.flags) or None),
    Field("traceparent", "text", lambda one: one.traceparent),
    Field("sql", "text", _sql),
    Field("parameters", "text", lambda one: _dumped(parameters_of(one))),
    Field("query_attributes", "text", lambda one: _dumped(query_attributes_of(one))),
)
"""In their order; the host, which is no part of a statement, is beside them."""


def shown(field: Field, value: str | int | None) -> str:
    """A value as text; empty for what is not known."""
    if value is None:
        return ""
    return rfc3339(value) if field.kind == "time" and isinstance(value, int) else str(value)
