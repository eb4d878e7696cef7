from __future__ import annotations

import pytest

from tests.support import mysql_packets as mysql
from tests.support.answer_packets import MORE_RESULTS, eof, ok, prepared, progress
from workers.mysql.beginnings import (
    COLUMNS,
    FILE,
    INTERIM,
    MORE,
    NOTHING,
    PREPARED,
    ROWS,
    STREAM,
    WHOLE,
    Beginning,
    is_progress,
    read_end,
)
from workers.mysql.events import Exchange

QUERY, FIELD_LIST, STATISTICS, BINLOG_DUMP, TABLE_DUMP, PREPARE, FETCH = 3, 4, 9, 0x12, 0x13, 0x16, 0x1C


def begin(command: int, payload: bytes, *, there: int | None = None) -> tuple[int, int, int, int]:
    """What the payload is, of which so many bytes are there: kind, definitions, columns, and the exchange's status."""
    exchange = Exchange()
    exchange.command = command
    beginning = Beginning()
    end = len(payload) if there is None else there
    kind = beginning.read(exchange, b"\xee" + payload[:end] + b"\x01" * 20, 1, 1 + end, len(payload))
    return kind, beginning.definitions, beginning.columns, exchange.status


@pytest.mark.parametrize(
    ("command", "payload", "expected"),
    [
        (QUERY, ok(), (WHOLE, 0, 0, 1)),
        (QUERY, b"\0\0\0", (WHOLE, 0, 0, 1)),
        (QUERY, ok(status=MORE_RESULTS), (MORE, 0, 0, 1)),
        (QUERY, eof(), (WHOLE, 0, 0, 1)),
        (QUERY, mysql.error(1064, b"no")[4:], (WHOLE, 0, 0, 2)),
        (QUERY, progress(), (INTERIM, 0, 0, 0)),
        (QUERY, b"\xfb/tmp/x", (FILE, 0, 0, 0)),
        (QUERY, b"\x07", (COLUMNS, 7, 0, 3)),
        (QUERY, mysql.integer(4096), (COLUMNS, 4096, 0, 3)),
        (QUERY, b"\x07\x01", (COLUMNS, 7, 0, 3)),
        (QUERY, b"\x07\x00", (COLUMNS, 0, 0, 3)),
        (QUERY, b"\x01\x07", (COLUMNS, 7, 0, 3)),
        (QUERY, b"\x00\x07", (COLUMNS, 0, 0, 3)),
        (QUERY, b"\x00" + mysql.integer(300), (COLUMNS, 0, 0, 3)),
        (QUERY, b"\x07\x08", (NOTHING, 0, 0, 0)),
        (QUERY, b"\x01\x00\x00", (NOTHING, 0, 0, 0)),
        (QUERY, mysql.integer(70_000), (NOTHING, 0, 0, 0)),
        (STATISTICS, b"Uptime: 5", (WHOLE, 0, 0, 1)),
        (FIELD_LIST, b"\x03def", (ROWS, 0, 0, 3)),
        (FIELD_LIST, eof(), (WHOLE, 0, 0, 3)),
        (FETCH, b"\0\0abc", (ROWS, 0, 0, 3)),
        (FETCH, eof(), (WHOLE, 0, 0, 3)),
        (TABLE_DUMP, b"\0\0abc", (ROWS, 0, 0, 3)),
        (BINLOG_DUMP, b"\0\0abc", (STREAM, 0, 0, 3)),
        (PREPARE, prepared(1, 2, 3)[0], (PREPARED, 2, 3, 1)),
        (PREPARE, prepared(1, 2, 3)[0] + b"\x01", (PREPARED, 2, 3, 1)),
        (PREPARE, prepared(1, 2, 3)[0] + b"\x00", (PREPARED, 0, 0, 1)),
        (PREPARE, b"\0" + bytes(10), (NOTHING, 0, 0, 0)),
    ],
)
def test_a_first_packet_is_known_by_its_shape(command: int, payload: bytes, expected: tuple[int, ...]) -> None:
    assert begin(command, payload) == expected


@pytest.mark.parametrize("payload", [ok(70_000), mysql.error(1064, b"no")[4:], mysql.integer(300)])
def test_where_too_much_is_missing_it_is_said(payload: bytes) -> None:
    with pytest.raises(IndexError):
        begin(QUERY, payload, there=2)


def test_progress_is_told_from_an_error_of_its_number() -> None:
    said = progress()
    assert is_progress(said, 0, len(said))
    for error in (mysql.error(0xFFFF, b"no"), mysql.error(0xFFFF, b"no", None), mysql.error(1, b"\x01", None)):
        assert not is_progress(error, 4, len(error))


@pytest.mark.parametrize("payload", [eof(3, status=MORE_RESULTS), ok(0, 0, 3, status=MORE_RESULTS, header=0xFE)])
def test_an_end_says_whether_more_follows(payload: bytes) -> None:
    exchange = Exchange()
    assert read_end(exchange, payload, 0, len(payload), len(payload))
    assert (exchange.status, exchange.warnings) == (1, 3)
