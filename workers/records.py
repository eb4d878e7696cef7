"""Reads a block back into statements. The form is specified in docs/block-format.md; blocks.py writes it.

A block may come from an archive that anyone could have written: everything is checked, nothing is believed.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from workers.columns import MOST_ROWS, BlockError, Columns, Session, decode
from workers.mysql import charsets
from workers.mysql.events import FLAG_NAMES
from workers.mysql.values import Indicator, Row, Value, named_values, rows, values
from workers.mysqlx import phases
from workers.sql import tracecontext

__all__ = [
    "MOST_ROWS",
    "OF_SQL",
    "STATUS",
    "BlockError",
    "Session",
    "Statement",
    "decode_sql",
    "statements",
    "statements_of",
]

STATUS: Final = ("unknown", "ok", "error", "result")
"""By the number in the column `status`."""
_WITH_STATEMENT: Final = phases.WITH_STATEMENT | {
    "stmt_prepare", "stmt_execute", "stmt_bulk_execute", "stmt_close", "stmt_reset", "stmt_fetch",
}  # fmt: skip
_IN_ROWS: Final = "stmt_bulk_execute"
OF_SQL: Final = frozenset({
    "query", "stmt_prepare", "stmt_execute", "stmt_bulk_execute", "x_prepare", "x_execute", "x_cursor_open",
})  # fmt: skip
"""Commands whose text is SQL; that of others is a name."""
_WITHOUT_EFFECT: Final = phases.WITHOUT_EFFECT | {"stmt_prepare"}
_ERROR_STATE: Final = 5
_DIGEST: Final = 32  # bytes


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
        if self.command not in OF_SQL:
            return None
        return tracecontext.in_comments(decode_sql(self)[0], whole="truncated" not in self.flags)


def decode_sql(statement: Statement) -> tuple[str, bool]:
    """The statement's text by the session's character set, and whether all of it decoded; "" where there is none.

    What does not decode stands as U+FFFD.
    """
    return decode(statement.sql or b"", charsets.codec(statement.charset))


def statements(body: bytes) -> Iterator[Statement]:
    """The statements of a block in the order in which they were finished; none in an empty body.

    Raises BlockError, before the first statement or at the one that is wrong.
    """
    if body:
        columns = Columns(body)
        yield from statements_of(columns, range(columns.rows))


def statements_of(columns: Columns, rows: Iterable[int]) -> Iterator[Statement]:
    """The statements that some *rows* of a block hold; raises BlockError as `statements` does."""
    numbers = [columns.numbers(name) for name in _NUMBER_COLUMNS]
    times, sessions = columns.times, columns.sessions
    session_numbers = columns.session_numbers
    bound, named, errors = (columns.pieces(name) for name in ("parameters", "query_attributes", "error"))
    columns.own_texts  # noqa: B018 - checked before the first row
    for row in rows:
        number = dict(zip(_NUMBER_COLUMNS, [column[row] for column in numbers], strict=True))
        number["bytes_in"] = columns.bytes_in(row)
        yield _statement(
            columns,
            number,
            times[row],
            sessions[session_numbers[row]],
            columns.text(row),
            bound[row] if number["parameters_size"] else None,
            named[row],
            errors[row],
        )


def _statement(
    columns: Columns,
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
        database=_utf8(columns.string(number["database"])),
        charset=charset,
        status=STATUS[number["status"]] if number["status"] < len(STATUS) else STATUS[0],
        error_code=number["error_code"] if failed else None,
        sqlstate=error[:_ERROR_STATE].decode("latin_1") if error[:_ERROR_STATE].strip(b"\0") else None,
        error_message=decode(error[_ERROR_STATE:], "utf_8")[0] if failed else None,
        affected_rows=number["affected_rows"] if done or (several and number["affected_rows"]) else None,
        last_insert_id=number["last_insert_id"] or None,
        rows=_known(number, "rows"),
        warnings=number["warnings"] if done or number["rows"] or (several and number["warnings"]) else None,
        latency_ns=_known(number, "latency"),
        duration_ns=_known(number, "duration"),
        bytes_in=number["bytes_in"],
        bytes_out=number["bytes_out"] or None,
        flags=_flags(number["flags"]),
        **_whole(text, number["sql_cut"], columns.string(number["sql_sha256"])),
    )


_NUMBER_COLUMNS: Final = (
    "time", "session", "database", "command", "status", "flags", "charset", "error_code", "warnings", "statement_id",
    "affected_rows", "last_insert_id", "latency", "duration", "rows", "bytes_out", "sql_size", "sql_cut",
    "sql_sha256", "sql_string", "parameters_size", "query_attributes_size", "error_size",
)  # fmt: skip


def _utf8(text: bytes | None) -> str | None:
    return None if text is None else decode(text, "utf_8")[0]


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


def _text_or_bytes(codec: str) -> Callable[[bytes], str | bytes]:
    """Clients bind bytes as strings too."""

    def text_or_bytes(data: bytes) -> str | bytes:
        text, clean = decode(data, codec)
        return text if clean else data

    return text_or_bytes


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
        return named_values(named, _text_or_bytes(codec), lambda name: decode(name, codec)[0])
    except ValueError as error:
        raise BlockError(str(error)) from error  # workers write down only what they could read
