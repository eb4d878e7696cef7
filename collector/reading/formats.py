"""The forms in which statements are printed. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from collector.reading.fields import FIELDS, shown
from collector.reading.lines import render_json, render_text
from collector.reading.slowlog import render_slow_log
from workers.records import Statement

_LINE_END: Final = "\r\n"


@dataclass(frozen=True, slots=True)
class Format:
    """One of them: *render* takes a statement, its host, and whether the bytes as sent are wanted."""

    help: str
    render: Callable[[Statement, str, bool], str]
    before: str | None = None
    """What stands before all statements."""


def _json(statement: Statement, host: str, raw: bool) -> str:
    return render_json(statement, host, raw=raw)


def _csv_line(values: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator=_LINE_END).writerow(values)  # and quotes what holds a part of that
    return line.getvalue().removesuffix(_LINE_END)


def _csv(statement: Statement, host: str, _: bool) -> str:
    time, *rest = (shown(field, field.value(statement)) for field in FIELDS)
    return _csv_line([time, host, *rest])


FORMATS: Final = {
    "text": Format("one line a statement, for eyes", lambda statement, _host, _raw: render_text(statement)),
    "json": Format("one JSON object a line", _json),
    "csv": Format("RFC 4180, with a line of names", _csv, _csv_line(["time", "host", *(f.name for f in FIELDS[1:])])),
    "slowlog": Format(
        "as MySQL's slow query log, for pt-query-digest and others",
        lambda statement, _host, _raw: render_slow_log(statement),
    ),
}


def encode(line: str) -> bytes:
    """A line as it is written."""
    return line.encode("utf-8", "backslashreplace") + b"\n"
