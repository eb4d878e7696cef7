"""What is promised of answers that are read whole: whatever is cut or lost, each is told right, or as far as known."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import answer_packets as answer
from tests.support import mysql_packets as mysql
from tests.support.answer_packets import DEFINITION, MORE_RESULTS, end, ok, prepared, progress, result, stream, text_row
from tests.support.listening import Heard, Line
from tests.support.strategies import damaged
from workers.mysql.events import Exchange
from workers.mysql.framing import Allowance
from workers.mysql.results import Answers

SLOW = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
DEPRECATE_EOF = 1 << 24


@dataclass(frozen=True)
class Talk:
    """A command, its answer, and what is to be told of it."""

    client: bytes
    server: bytes
    heard: Heard


ROW_LISTS = st.lists(
    st.lists(st.one_of(st.none(), st.binary(max_size=400)), min_size=1, max_size=1).map(lambda row: text_row(*row)),
    max_size=40,
)
NUMBERS = st.integers(0, 1 << 40)


@st.composite
def results(draw: st.DrawFn, deprecated: bool) -> tuple[list[bytes], int | None, int]:
    """The payloads of one result of several, how many rows it has (None: none can be), and how many it affected."""
    status = 2 | MORE_RESULTS
    if draw(st.booleans()):
        rows = draw(ROW_LISTS)
        return result(rows, status=status, deprecated=deprecated), len(rows), 0
    affected = draw(NUMBERS)
    return [ok(affected, status=status)], None, affected


@st.composite
def queries(draw: st.DrawFn, deprecated: bool) -> Talk:
    """A query and any number of results, the last of which may be an error."""
    text = draw(st.binary(max_size=60).map(lambda tail: b"SELECT /*" + tail))
    payloads: list[bytes] = [progress()] * draw(st.integers(0, 2))
    rows: int | None = None
    affected = 0
    for more, count, changed in draw(st.lists(results(deprecated), max_size=3)):
        payloads += more
        affected += changed
        rows = rows if count is None else (rows or 0) + count
    status = "ok" if rows is None else "result"
    if draw(st.booleans()):
        payloads.append(mysql.error(1064, draw(st.binary(max_size=300)))[4:])
        return Talk(mysql.query(text), stream(payloads), Heard("query", text, "error", rows, affected, 1064))
    if draw(st.booleans()):
        last = draw(ROW_LISTS)
        payloads += result(last, deprecated=deprecated)
        heard = Heard("query", text, "result", (rows or 0) + len(last), affected)
        return Talk(mysql.query(text), stream(payloads), heard)
    changes = draw(st.one_of(st.none(), st.binary(max_size=30).map(lambda name: answer.change(1, name))))
    payloads.append(ok(3, changes=changes))
    return Talk(mysql.query(text), stream(payloads), Heard("query", text, status, rows, affected + 3))


@st.composite
def others(draw: st.DrawFn, deprecated: bool) -> Talk:
    """Commands whose answers have shapes of their own."""
    count = draw(st.integers(0, 30))
    tail = end(deprecated=deprecated)
    statement = draw(st.integers(1, 1000))
    kind = draw(st.sampled_from(["fetch", "fields", "statistics", "prepare", "option"]))
    if kind == "fetch":
        rows = [answer.binary_row(draw(st.binary(max_size=60))) for _ in range(count)]
        return Talk(
            mysql.of_statement(0x1C, statement), stream([*rows, tail]), Heard("stmt_fetch", None, "result", count)
        )
    if kind == "fields":
        data = stream([*[DEFINITION] * count, tail])
        return Talk(mysql.command(4, b"t\0"), data, Heard("field_list", b"t", "result", count))
    if kind == "statistics":
        return Talk(mysql.command(9), stream([b"Uptime: 7"]), Heard("statistics", None, "ok"))
    if kind == "option":
        return Talk(mysql.command(0x1B, b"\0\0"), stream([tail]), Heard("set_option", None, "ok"))
    data = stream(prepared(statement, count, draw(st.integers(0, 5)), deprecated=deprecated))
    return Talk(mysql.prepare(b"SELECT ?"), data, Heard("stmt_prepare", b"SELECT ?", "ok"))


@st.composite
def talks(draw: st.DrawFn) -> tuple[bool, list[Talk]]:
    """What is said on one connection, which has one form of ends."""
    deprecated = draw(st.booleans())
    return deprecated, draw(st.lists(st.one_of(queries(deprecated), others(deprecated)), min_size=1, max_size=6))


def line(deprecated: bool, room: int = 1 << 22) -> Line:
    return Line(capabilities=mysql.CLIENT_CAPABILITIES | (DEPRECATE_EOF if deprecated else 0), room=room)


def cut(data: bytes, at: list[int]) -> list[int]:
    """The sizes of the pieces that cuts at these places make."""
    bounds = [0, *sorted({place % len(data) for place in at})]
    return [high - low for low, high in itertools.pairwise(bounds)]


@SLOW
@given(talks(), st.lists(st.integers(0, 1 << 20), max_size=60))
def test_each_answer_is_told_right_wherever_it_is_cut(said: tuple[bool, list[Talk]], cuts: list[int]) -> None:
    deprecated, turns = said
    for places in ([], cuts):
        spoken = line(deprecated)
        for number, turn in enumerate(turns, 1):
            spoken.client(turn.client)
            spoken.server(turn.server, cut(turn.server, places) if places else ())
            assert len(spoken.heard()) == number, "as soon as it has ended"
        assert spoken.close() == [turn.heard for turn in turns]
        assert [one.bytes_out for one in spoken.exchanges()] == [len(turn.server) for turn in turns]


@SLOW
@given(talks(), st.lists(st.integers(0, 1 << 20), max_size=60))
def test_answers_to_commands_sent_ahead_are_told_in_order(said: tuple[bool, list[Talk]], cuts: list[int]) -> None:
    deprecated, turns = said
    spoken = line(deprecated)
    for turn in turns:
        spoken.client(turn.client)
    whole = b"".join(turn.server for turn in turns)
    spoken.server(whole, cut(whole, cuts))
    assert spoken.close() == [turn.heard for turn in turns]


@SLOW
@given(talks(), st.data())
def test_what_is_lost_makes_nothing_wrong_and_spoils_nothing_behind_it(
    said: tuple[bool, list[Talk]], data: st.DataObject
) -> None:
    deprecated, turns = said
    total = sum(len(turn.server) for turn in turns)
    low = data.draw(st.integers(0, total - 1))
    high = data.draw(st.integers(low + 1, total))
    spoken = line(deprecated)
    at = 0
    for turn in turns:
        stop = at + len(turn.server)
        spoken.client(turn.client)
        if at < high and stop > low:
            spoken.server(turn.server[: max(low, at) - at])
            spoken.lose(min(high, stop) - max(low, at))
            spoken.server(turn.server[min(high, stop) - at :])
        else:
            spoken.server(turn.server)
        at = stop
    told = spoken.close()
    assert len(told) == len(turns)
    at = 0
    for turn, one in zip(turns, told, strict=True):
        stop = at + len(turn.server)
        if stop <= low or at >= high:
            assert one == turn.heard
        else:
            assert (one.command, one.text) == (turn.heard.command, turn.heard.text)
            assert one.rows in {None, turn.heard.rows} or turn.heard.status == "error"
            assert one.affected_rows <= turn.heard.affected_rows
        at = stop


@settings(SLOW, max_examples=300)
@given(talks(), st.data(), st.sampled_from([200, 3000, 1 << 22]), st.booleans())
def test_no_damage_raises_or_leaves_anything_behind(
    said: tuple[bool, list[Talk]], data: st.DataObject, room: int, whole: bool
) -> None:
    _, turns = said
    spoken = Line(whole=whole, timed=not whole, from_start=False, room=room)
    for turn in turns:
        spoken.client(turn.client)
        hurt = data.draw(damaged(turn.server))
        spoken.server(hurt, cut(hurt, data.draw(st.lists(st.integers(0, 1 << 20), max_size=5))) if hurt else ())
        assert spoken.allowance.used <= room
        if whole and data.draw(st.booleans()):
            spoken.lose(data.draw(st.integers(0, 1 << 25)))
    spoken.connection.close()
    assert spoken.allowance.used == 0
    assert len(spoken.heard()) == len(turns)


@settings(SLOW, max_examples=300)
@given(st.sampled_from([3, 4, 9, 0x16, 0x17, 0x1C, 0x12]), st.binary(max_size=200), st.lists(st.integers(0, 200)))
def test_any_bytes_tell_the_same_wherever_they_are_cut(command: int, data: bytes, cuts: list[int]) -> None:
    told = []
    for places in (set[int](), {place for place in cuts if place < len(data)}):
        allowance = Allowance(1 << 20)
        answers = Answers(allowance)
        exchange = Exchange()
        exchange.command = command
        answers.begin(exchange, data[3] if len(data) > 3 else 1)
        bounds = [0, *sorted(places), len(data)]
        for low, high in itertools.pairwise(bounds):
            answers.take(data, low, high, 5)
        found = (
            exchange.status, exchange.rows, exchange.affected_rows, exchange.message, exchange.bytes_out,
            exchange.statement_id, exchange.flags, answers.done, answers.broken, answers.wants_file, answers.streaming,
        )  # fmt: skip
        told.append(found)
        answers.end()
        assert allowance.used == 0
    assert told[0] == told[1]
