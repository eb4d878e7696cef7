"""Which rows of a block a search asks for: looks at columns, and makes records only where nothing else tells. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from collector.reading.search import Search
from collector.reading.shapes import Shapes, shape_id
from workers.columns import Columns, decode
from workers.mysql import charsets
from workers.mysqlx import phases
from workers.records import STATUS, Statement, statements_of

_ANYTHING: Final = Search()
_OTHER_THAN_ASCII: Final = ("utf_16", "utf_32")
"""Codecs in which bytes of ASCII are not the text that they look like."""


class Selection:
    """The rows of blocks that one search asks for. Promise: the same ones as `Search.matches` takes."""

    def __init__(self, search: Search, shapes: Shapes | None = None) -> None:
        self.search = search
        self._shapes = shapes or Shapes()

    def rows(self, columns: Columns) -> list[int]:
        """Their numbers, in order; BlockError where the block is damaged."""
        rows = self._by_time(columns)
        rows = self._by_numbers(columns, rows)
        rows = self._by_session(columns, rows)
        if rows and self.search.regex is not None:
            rows = self._by_regex(columns, rows)
        if rows and self.search.shape is not None:
            rows = [row for row in rows if self._is_of_shape(columns.text(row))]
        if rows and self.search.text is not None:
            rows = self._by_text(columns, rows)
        if rows and self.search.trace is not None:
            rows = _that_match(dataclasses.replace(_ANYTHING, trace=self.search.trace), columns, rows)
        return rows

    def statements(self, columns: Columns) -> Iterator[Statement]:
        """What these rows hold; BlockError where the block is damaged."""
        return statements_of(columns, self.rows(columns))

    def _by_time(self, columns: Columns) -> list[int]:
        times, overlaps = columns.times, self.search.overlaps
        if not times or (overlaps(first := min(times), first) and overlaps(last := max(times), last)):
            return list(range(columns.rows))
        return [row for row, time_ns in enumerate(times) if overlaps(time_ns, time_ns)]

    def _by_numbers(self, columns: Columns, rows: list[int]) -> list[int]:
        search = self.search
        if search.commands:
            rows = columns.rows_where("command", lambda number: phases.name(number) in search.commands, rows)
        if search.statuses:
            rows = columns.rows_where("status", lambda number: status(number) in search.statuses, rows)
        if search.error_codes:
            rows = columns.rows_where("error_code", search.error_codes.__contains__, rows)
        if search.database is not None:
            named = columns.strings("database")
            rows = columns.rows_where("database", lambda number: _utf8(named[number]) == search.database, rows)
        if search.min_latency_ns is not None:
            latencies, statuses, least = columns.numbers("latency"), columns.numbers("status"), search.min_latency_ns
            rows = [row for row in rows if latencies[row] > least and statuses[row]]  # it is written with 1 added
        return rows

    def _by_session(self, columns: Columns, rows: list[int]) -> list[int]:
        search = self.search
        if search.user is None and search.client is None:
            return rows
        sessions, numbers = columns.sessions, columns.session_numbers  # each of these numbers is one of a session
        assert len(numbers) == columns.rows
        if search.user is not None:
            rows = columns.rows_where("session", lambda number: sessions[number].user == search.user, rows)
        if search.client is not None:
            client = search.client
            rows = columns.rows_where("session", lambda number: client(sessions[number].client), rows)
        return rows

    def _by_regex(self, columns: Columns, rows: Iterable[int]) -> list[int]:
        assert self.search.regex is not None
        found, text = self.search.regex.search, _texts(columns)
        return [row for row in rows if found(text(row))]

    def _is_of_shape(self, text: bytes | None) -> bool:
        return text is not None and shape_id(self._shapes(text)) == self.search.shape

    def _by_text(self, columns: Columns, rows: list[int]) -> list[int]:
        assert self.search.text is not None
        wanted, text = self.search.text.casefold(), _texts(columns)
        shared, bound, named = map(columns.numbers, ("sql_string", "parameters_size", "query_attributes_size"))
        own = rows if _may_have(columns, wanted) else [row for row in rows if shared[row]]
        found = {row for row in own if wanted in text(row).casefold()}
        others = [row for row in rows if row not in found and (bound[row] or named[row])]
        found.update(_that_match(dataclasses.replace(_ANYTHING, text=self.search.text), columns, others))
        return [row for row in rows if row in found]


def _that_match(search: Search, columns: Columns, rows: list[int]) -> list[int]:
    found = zip(rows, statements_of(columns, rows), strict=True)
    return [row for row, statement in found if search.matches_values(statement)]


def status(number: int) -> str:
    """The status that a number in the column of that name stands for."""
    return STATUS[number] if number < len(STATUS) else STATUS[0]


def _texts(columns: Columns) -> Callable[[int], str]:
    """The text of a row by its number, in the character set of its session."""
    numbers = columns.numbers("charset")
    codecs = {number: charsets.codec(charsets.name(number)) for number in set(numbers)}

    def text(row: int) -> str:
        return decode(columns.text(row) or b"", codecs[numbers[row]])[0]

    return text


def _may_have(columns: Columns, wanted: str) -> bool:
    """Whether *wanted*, in small letters, can be in a row's own text: quick, and exact where these are ASCII."""
    data = columns.own_texts.data
    codecs = {charsets.codec(charsets.name(number)) for number in set(columns.numbers("charset"))}
    if not data.isascii() or any(codec.startswith(_OTHER_THAN_ASCII) for codec in codecs):
        return True
    return wanted.isascii() and wanted.encode() in data.lower()


def _utf8(text: bytes | None) -> str | None:
    return None if text is None else decode(text, "utf_8")[0]
