from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.play import C, S, Step, play
from tests.support.strategies import BOUND
from workers.mysql.attributes import take_before_text, take_behind_values, text_begins
from workers.mysql.errors import StreamViolation
from workers.mysql.events import Exchange
from workers.mysql.framing import Allowance, Framing
from workers.mysql.prepared import Prepared
from workers.mysql.values import named_values

ONE = Bound(mysql.LONG, struct.pack("<i", 1))
TEXT = Bound(mysql.VAR_STRING, mysql.counted(b"text"))
PARENT = Bound(mysql.STRING, mysql.counted(b"00-ab"), name=b"traceparent")
NULL = Bound(mysql.TINY, None, name=b"x")
NAMED = (("traceparent", "00-ab"), ("x", None))
LOGGED_IN: tuple[Step, ...] = (
    (S, mysql.greeting()),
    (C, mysql.login(capabilities=mysql.CLIENT_CAPABILITIES | mysql.QUERY_ATTRIBUTES)),
    (S, mysql.ok(sequence=2)),
)


def text(data: bytes) -> str:
    return data.decode()


def taken(exchange: Exchange) -> tuple[tuple[str, object], ...] | None:
    named = exchange.query_attributes
    return None if named is None else named_values(named, text, text)


def prepared(count: int) -> Prepared:
    return Prepared(b"SELECT ?", 8, count)


def rest_of(execution: bytes) -> bytes:
    """An execution from the count of its values on."""
    return execution[4 + 10 :]


def test_those_of_a_query_are_taken_and_its_text_is_found_behind_them() -> None:
    sent = mysql.query_with_attributes(b"SELECT 1", [PARENT, NULL])[5:]
    exchange = Exchange()
    at = take_before_text(exchange, b"\xee" + sent + b"more", 1, 1 + len(sent))
    assert (sent[at - 1 :], taken(exchange)) == (b"SELECT 1", NAMED)


def test_a_query_without_any_has_none() -> None:
    exchange = Exchange()
    assert take_before_text(exchange, b"\0\x01SELECT 1", 0, 10) == 2
    assert exchange.query_attributes is None


def test_those_of_an_execution_stand_behind_its_values() -> None:
    sent = rest_of(mysql.execute_with_attributes(1, [ONE, TEXT], [PARENT, NULL]))
    exchange = Exchange()
    take_behind_values(exchange, prepared(2), sent, 0, len(sent))
    assert taken(exchange) == NAMED


def test_of_a_statement_that_is_not_known_those_values_are_attributes_that_have_names() -> None:
    sent = rest_of(mysql.execute_with_attributes(1, [ONE, TEXT], [PARENT, NULL]))
    exchange = Exchange()
    take_behind_values(exchange, None, sent, 0, len(sent))
    assert taken(exchange) == NAMED
    cut_short = Exchange()
    with pytest.raises(StreamViolation):  # as where a value was sent before: what stands where is not known
        take_behind_values(cut_short, None, sent + b"more", 0, len(sent) + 4)
    assert cut_short.query_attributes is None


@given(
    own=st.lists(BOUND, max_size=9),
    named=st.lists(st.tuples(BOUND, st.text(st.characters(codec="utf-8"), max_size=300)), max_size=20),
)
def test_values_of_any_type_come_out_by_their_names(
    own: list[tuple[Bound, object]], named: list[tuple[tuple[Bound, object], str]]
) -> None:
    sent = [bound._replace(name=name.encode()) for (bound, _), name in named]
    expected = tuple((name, value) for (_, value), name in named) or None
    played = play(
        *LOGGED_IN,
        (C, mysql.query_with_attributes(b"SELECT 1", sent)),
        (S, mysql.result()),
        (C, mysql.prepare(b"SELECT ?")),
        (S, mysql.prepare_ok(5, len(own))),
        (C, mysql.execute_with_attributes(5, [bound for bound, _ in own], sent)),
        (S, mysql.result()),
    )
    _, query, _, execution = played.said
    assert (query.text, query.query_attributes) == (b"SELECT 1", expected)
    assert execution.query_attributes == expected
    assert execution.parameters == (tuple(value for _, value in own) if own else None)
    assert played.unread_parameters == 0


def execution(*sent: Step, count: int = 2, unread: int = 0, answers: bool = True) -> tuple[object, object]:
    """Parameters and attributes of what comes last behind a PREPARE."""
    script = (*LOGGED_IN, (C, mysql.prepare(b"SELECT ?")), (S, mysql.prepare_ok(5, count)), *sent)
    played = play(*script, answers=answers)
    assert played.unread_parameters == unread
    return played.said[-1].parameters, played.said[-1].query_attributes


def test_they_are_known_without_answers_too() -> None:
    sent = mysql.execute_with_attributes(5, [ONE, TEXT], [PARENT, NULL])
    assert execution((C, sent), answers=False) == ((1, "text"), NAMED)


def test_a_value_that_was_sent_before_is_not_looked_for_in_front_of_them() -> None:
    parts: list[Step] = [
        (C, mysql.long_data(5, 1, b"long")),
        (C, mysql.execute_with_attributes(5, [ONE, TEXT._replace(data=b"")], [PARENT, NULL])),
    ]
    assert execution(*parts) == ((1, "long"), NAMED)


def test_an_execution_sent_ahead_of_the_answer_to_its_prepare_has_them() -> None:
    played = play(
        *LOGGED_IN,
        (C, mysql.prepare(b"SELECT ?")),
        (C, mysql.execute_with_attributes(0xFFFFFFFF, [ONE], [PARENT, NULL])),
        (S, mysql.prepare_ok(5, 1)),
        (S, mysql.result()),
    )
    assert (played.said[-1].parameters, played.said[-1].query_attributes) == ((1,), NAMED)


def test_an_execution_without_parameters_has_them_where_its_flag_says_so() -> None:
    sent = mysql.execute_with_attributes(5, (), [PARENT, NULL])
    assert execution((C, sent), count=0) == (None, NAMED)
    ignored = mysql.execute_with_attributes(5, (), [PARENT, NULL], flags=0)  # as by the server
    assert execution((C, ignored), count=0) == (None, None)
    assert execution((C, mysql.execute(5)), count=0) == (None, None)


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param(b"\x03\0\x01\x03\0\0\xfd\0\0\xfd\0\x01n\x01\0\0\0\x04text\x05ab", id="a value leaves the packet"),
        pytest.param(b"\x03\0\x01\x03\0\0\xfd\0\0\xfd\0\x01n\x01\0\0\0\x04text\xff", id="a value has no length"),
        pytest.param(b"\x03\0\x01\x03\0\0\xfd\0\0\xfd\0\x01n\x01\0\0\0\x04text", id="a value is not there"),
    ],
)
def test_those_that_cannot_be_read_are_counted_and_leave_the_values_of_the_statement(extra: bytes) -> None:
    sent = mysql.command(0x17, struct.pack("<IBI", 5, 8, 1) + extra)
    assert execution((C, sent), unread=1) == ((1, "text"), None)


def test_types_that_are_not_sent_again_leave_them_unknown_and_counted() -> None:
    sent: list[Step] = [
        (C, mysql.execute_with_attributes(5, [ONE, TEXT])),
        (S, mysql.ok()),
        (C, mysql.execute_with_attributes(5, [ONE, TEXT], [PARENT], types=False)),
    ]
    assert execution(*sent, unread=1) == ((1, "text"), None)


def test_what_they_take_is_charged() -> None:
    exchange = Exchange()
    before = exchange.own_bytes()
    take_before_text(exchange, mysql.query_with_attributes(b"", [PARENT])[5:], 0, 24)
    assert exchange.own_bytes() == before + len(exchange.query_attributes or b"") == before + 20


def test_attributes_longer_than_what_is_kept_leave_the_statement_without_its_text() -> None:
    huge = Bound(mysql.STRING, mysql.counted(bytes(40_000)), name=b"hides what follows")
    sent = mysql.query_with_attributes(b"DROP TABLE t", [huge])
    played = play(*LOGGED_IN, (C, sent), (S, mysql.ok()), keep_bytes=100)
    said = played.said[-1]
    assert (said.command, said.text, said.query_attributes, said.status) == ("query", None, None, "ok")
    assert "truncated" in said.flags
    assert (played.desyncs, played.truncated) == (0, 1)


def framed(sent: bytes, keep: int = 1000) -> Framing:
    """The command as it is found in its packet."""
    framing = Framing(keep, Allowance(1000))
    framing.next(sent, 0, len(sent))
    assert framing.complete
    return framing


def test_where_the_text_of_a_command_begins() -> None:
    plain, named = mysql.query(b"SELECT 1"), mysql.query_with_attributes(b"SELECT 1", [PARENT])
    behind = len(named) - len(b"SELECT 1")
    for attributes, sent, begins in ((0, plain, 5), (-1, plain, 5), (1, named, behind), (-1, named, behind)):
        exchange = Exchange()
        assert text_begins(exchange, framed(sent), attributes) == begins
        assert (exchange.query_attributes is not None) == (sent is named)
    assert text_begins(Exchange(), framed(mysql.prepare(b"SELECT ?")), 1) == 5, "only a query has attributes before it"
    assert text_begins(Exchange(), framed(mysql.command(14)), 1) == -1, "a ping has no text"
    assert text_begins(Exchange(), framed(mysql.packet(0, b"")), 1) == -1


def test_of_a_command_that_is_cut_inside_of_its_attributes_no_text_is_there() -> None:
    named = mysql.query_with_attributes(b"SELECT 1", [PARENT])
    for keep in range(1, len(named) - 4 - 8):
        assert text_begins(Exchange(), framed(named, keep), 1) == -1
    with pytest.raises((StreamViolation, IndexError)):
        text_begins(Exchange(), framed(mysql.query(b"\x05\x01")), 1)
