"""Answers in compressed frames, where all of each answer is read: they tell what the same answers in the clear do."""

from __future__ import annotations

import random
from typing import Literal

import pytest

from tests.support import answer_packets as answers
from tests.support import mysql_packets as mysql
from tests.support.packets import Connection
from tests.support.pipeline import STEP_NS, Capture, texts
from workers.records import Statement
from workers.settings import Settings

Form = Literal["zlib", "zstd", "stored"]
forms = pytest.mark.parametrize("form", ["zlib", "zstd", "stored"])
COMPRESSING = mysql.CLIENT_CAPABILITIES | mysql.COMPRESS
GREETING = mysql.greeting(capabilities=mysql.SERVER_CAPABILITIES | mysql.COMPRESS | mysql.ZSTD)
ALL = Settings(ports=(3306,), responses="all")

ROWS = [answers.text_row(b"%d" % number, b"value " * (number % 90)) for number in range(60)]
TALK = (
    (b"SELECT 'rows'", answers.stream(answers.result(ROWS, columns=2, warnings=3))),
    (b"UPDATE t SET a = 1", mysql.ok(affected_rows=5, last_insert_id=6, warnings=7)),
    (b"SELEC", mysql.error(1064, b"no")),
    (b"SELECT 'none'", answers.stream(answers.result([]))),
    (b"CALL p()", answers.stream([
        *answers.result(ROWS[:5], columns=2, status=2 | answers.MORE_RESULTS), *answers.result(ROWS[:9], columns=2),
    ])),
    (b"DO 1", mysql.ok()),
)  # fmt: skip


def framed(plain: bytes, form: Form, size: int) -> bytes:
    """*plain* in frames of so many of its bytes each, whatever packets those cut."""
    pieces = [plain[at : at + size] for at in range(0, len(plain), size)]
    return b"".join(mysql.frame(piece, number & 0xFF, form) for number, piece in enumerate(pieces))


def opened(connection: Connection, *, compressed: bool) -> list[bytes]:
    login = mysql.login(capabilities=COMPRESSING if compressed else mysql.CLIENT_CAPABILITIES)
    return [
        *connection.open(),
        connection.server(GREETING),
        connection.client(login),
        connection.server(mysql.ok(sequence=2)),
    ]


def talk(form: Form | None, frame_bytes: int = 3000, cuts: tuple[int, int] = (536, 1448)) -> list[Statement]:
    """The records of TALK, in the clear or in frames; each answer in as many segments, however long it is."""
    capture, connection = Capture(ALL), Connection()
    capture.feed(*opened(connection, compressed=form is not None))
    chance = random.Random(frame_bytes)
    for text, answer in TALK:
        query = mysql.query(text)
        said = answer if form is None else framed(answer, form, frame_bytes)
        capture.feed(connection.client(query if form is None else mysql.frame(query, 0, form)))
        begun_ns = capture.now_ns
        at = 0
        while at < len(said):
            size = chance.randint(*cuts)
            capture.now_ns = begun_ns + (STEP_NS if at + size < len(said) else 2 * STEP_NS) * (at > 0)
            capture.feed(connection.server(said[at : at + size]))
            at += size
        capture.now_ns = begun_ns + 10 * STEP_NS
    found = capture.finish()
    assert capture.counted("resyncs", "answer_gaps", "packets_unmatched") == (0, 0, 0)
    return [one for one in found if one.command == "query"]


def told(found: list[Statement]) -> list[tuple[object, ...]]:
    """What each record says of its answer."""
    names = ("sql", "status", "error_code", "rows", "bytes_out", "affected_rows", "last_insert_id", "warnings")
    return [tuple(getattr(one, name) for name in names) for one in found]


@forms
@pytest.mark.parametrize("frame_bytes", [5, 100, 1 << 20])
@pytest.mark.parametrize("cuts", [(1, 200), (536, 1448), (60_000, 60_000)])
def test_frames_tell_what_the_clear_tells(form: Form, frame_bytes: int, cuts: tuple[int, int]) -> None:
    clear, compressed = talk(None), talk(form, frame_bytes, cuts)
    assert told(compressed) == told(clear)
    assert [(one.rows, one.warnings) for one in compressed[:4]] == [(60, 3), (None, 7), (None, None), (0, 0)]
    assert compressed[4].rows == 14
    assert {one.session.compressed for one in compressed} == {True}


@forms
def test_the_last_byte_has_the_time_of_the_frame_that_ends_the_answer(form: Form) -> None:
    capture, connection = Capture(ALL), Connection()
    text, answer = TALK[0]
    capture.feed(*opened(connection, compressed=True), connection.client(mysql.frame(mysql.query(text), 0, form)))
    said = framed(answer, form, 2000)
    middle = len(said) // 2
    capture.feed(connection.server(said[:middle]))
    capture.now_ns += 5 * STEP_NS
    capture.feed(connection.server(said[middle:-1]), connection.server(said[-1:]))
    (one,) = [each for each in capture.finish() if each.command == "query"]
    assert (one.latency_ns, one.duration_ns) == (STEP_NS, 8 * STEP_NS)


@forms
def test_behind_a_hole_in_frames_the_next_command_is_answered_again(form: Form) -> None:
    capture, connection = Capture(Settings(ports=(3306,), responses="all", gap_timeout_ns=10**9)), Connection()
    capture.feed(*opened(connection, compressed=True))
    capture.feed(connection.client(mysql.frame(mysql.query(b"SELECT 1"), 0, form)))
    said = framed(TALK[0][1], form, 400)
    third = len(said) // 3
    capture.feed(connection.server(said[:third]))
    connection.server(said[third : 2 * third])
    capture.feed(connection.server(said[2 * third :]))
    capture.pass_time(3)
    assert capture.counted("answer_gaps", "answer_gap_bytes") == (1, third)
    capture.feed(connection.client(mysql.frame(mysql.query(b"DO 2"), 0, form)))
    capture.feed(connection.server(mysql.frame(mysql.ok(affected_rows=9), 1, form)))
    found = capture.finish()
    assert texts(found) == [b"SELECT 1", b"DO 2"]
    assert (found[1].status, found[1].rows, found[1].duration_ns) == ("result", None, None)
    assert (found[2].status, found[2].affected_rows) == ("ok", 9)


def test_a_frame_that_does_not_open_costs_its_answer_and_no_other() -> None:
    capture, connection = Capture(ALL), Connection()
    capture.feed(*opened(connection, compressed=True))
    capture.feed(connection.client(mysql.frame(mysql.query(b"SELECT 1"))))
    broken = bytearray(mysql.frame(answers.stream(answers.result(ROWS, columns=2))))
    broken[7:40] = bytes(33)
    capture.feed(connection.server(bytes(broken)))
    capture.feed(connection.client(mysql.frame(mysql.query(b"DO 2"))), connection.server(mysql.frame(mysql.ok(), 1)))
    found = capture.finish()
    assert [(one.sql, one.status) for one in found[1:]] == [(b"SELECT 1", "unknown"), (b"DO 2", "ok")]
