"""The server's direction in order; of the client's, tests/unit/workers/test_pipeline.py plays every case."""

from __future__ import annotations

import pytest

from tests.support import mysql_packets as mysql
from tests.support.answer_packets import ok, result, stream, text_row
from tests.support.packets import ACK, FIN, RST, SYN, Connection
from tests.support.pipeline import Capture, logged_in
from workers.records import Statement
from workers.settings import Responses, Settings

SELECT = mysql.query(b"SELECT a FROM t")
RESULT = stream(result([text_row(b"a" * 3000), text_row(b"b" * 3000)]))
SEGMENTS = [RESULT[at : at + 1000] for at in range(0, len(RESULT), 1000)]


def capture(
    responses: Responses = "all", *, flow_bytes: int = 1 << 20, all_bytes: int = 1 << 24
) -> tuple[Capture, Connection]:
    """A pipeline, and a connection that is logged in and has sent a query."""
    limits = Settings(ports=(3306,), responses=responses, max_flow_buffer_bytes=flow_bytes, max_buffer_bytes=all_bytes)
    made = Capture(limits)
    connection = Connection(server_first=2**32 - 900)
    made.feed(*logged_in(connection), connection.client(SELECT))
    return made, connection


def answer(connection: Connection) -> list[bytes]:
    return [connection.server(segment) for segment in SEGMENTS]


def told(made: Capture) -> Statement:
    """What was recorded of the query, which comes behind the login."""
    return made.finish()[1]


def test_segments_of_an_answer_that_come_early_are_put_in_order() -> None:
    made, connection = capture()
    made.feed(*reversed(answer(connection)))
    found = told(made)
    assert (found.status, found.rows, found.bytes_out) == ("result", 2, len(RESULT))
    assert made.counted("segments_held", "answer_gaps", "packets_unmatched") == (len(SEGMENTS) - 1, 0, 0)


def test_segments_of_an_answer_that_come_again_are_duplicates() -> None:
    made, connection = capture()
    packets = answer(connection)
    made.feed(*packets[:3], *packets[:3], *packets[3:])
    assert told(made).rows == 2
    assert made.counted("packets_duplicate") == (3,)


def test_copies_of_an_answer_that_differ_are_counted() -> None:
    made, connection = capture()
    packets = answer(connection)
    made.feed(packets[1], packets[1][:-1] + b"!", packets[0], *packets[2:])
    assert told(made).rows == 2
    assert made.counted("segments_disagreeing") == (1,)


def test_a_hole_in_an_answer_is_given_up_when_it_is_old() -> None:
    made, connection = capture()
    packets = answer(connection)
    made.feed(*packets[:1], *packets[2:])
    made.pass_time(0.5)
    assert made.counted("answer_gaps") == (0,)
    made.pass_time(1)
    assert made.counted("answer_gaps", "answer_gap_bytes", "gaps") == (1, 1000, 0)
    assert told(made).rows == 2, "it lay inside a row"


def test_where_answers_are_left_out_nothing_of_one_is_waited_for() -> None:
    made, connection = capture()
    made.pipeline.answers_are_left_out(True)
    packets = answer(connection)
    made.feed(*packets[:1], *packets[3:])
    assert made.counted("answer_gaps", "answer_gap_bytes", "gaps") == (1, 2000, 0)
    found = told(made)
    assert (found.status, found.sql) == ("result", b"SELECT a FROM t")


def test_a_hole_in_an_answer_is_given_up_when_too_much_waits_behind_it() -> None:
    for made, connection in (capture(flow_bytes=3000), capture(all_bytes=4000)):
        packets = answer(connection)
        made.feed(*packets[:1], *packets[2:])
        assert made.counted("answer_gaps") == (1,)
        made.finish()


def test_answers_behind_a_hole_find_their_commands_though_these_were_sent_before_it_was_given_up() -> None:
    made, connection = capture()
    answer(connection)  # all of it lost
    for number in range(3):
        made.feed(connection.client(mysql.query(b"SELECT %d" % number)), *answer(connection))
    assert made.counted("statements_packed") == (2,), "the one of which nothing was seen"
    made.pass_time(2)
    found = made.finish()[1:]
    assert [(one.status, one.rows) for one in found] == [("unknown", None)] + [("result", 2)] * 3
    assert made.counted("answer_gaps", "answer_gap_bytes") == (1, len(RESULT))


def test_without_anything_behind_the_hole_the_next_command_ends_the_answer() -> None:
    made, connection = capture()
    packets = answer(connection)
    made.feed(packets[0], connection.client(SELECT))
    assert made.counted("statements_packed") == (2,)
    assert [(one.status, one.rows) for one in made.finish()[1:]] == [("result", None), ("unknown", None)]


def test_what_was_not_captured_of_a_segment_is_a_hole() -> None:
    made, connection = capture()
    for packet in answer(connection):
        made.feed(packet, cut=300)
    assert made.counted("answer_gaps") == (sum(len(segment) > 260 for segment in SEGMENTS),)
    made.finish()


def test_the_end_of_a_connection_gives_up_its_holes() -> None:
    made, connection = capture()
    packets = answer(connection)
    made.feed(*packets[:1], *packets[2:], connection.server(flags=RST))
    assert made.counted("answer_gaps", "statements_packed") == (1, 2)
    assert told(made).rows == 2


def test_data_in_the_last_segment_is_read() -> None:
    made, connection = capture()
    made.feed(*answer(connection)[:-1])
    connection.server_next -= len(SEGMENTS[-1])
    made.feed(connection.server(SEGMENTS[-1], flags=FIN | ACK))
    assert told(made).rows == 2


def test_the_answer_to_a_syn_says_where_the_server_begins() -> None:
    connection = Connection()
    made = Capture(Settings(ports=(3306,), responses="all"))
    syn, answer_, _ = connection.open()
    greeting = connection.server(mysql.greeting())
    made.feed(syn, answer_)
    connection.server_next -= len(mysql.greeting())
    first, second = connection.server(mysql.greeting()[:20]), connection.server(mysql.greeting()[20:])
    assert greeting[:4] != first[:4]
    made.feed(second, first, connection.client(mysql.login()), connection.server(mysql.ok(sequence=2)))
    assert made.finish()[0].session.server_version == "8.0.36"


def test_a_connection_whose_syn_was_missed_reads_all_of_the_answers_too() -> None:
    connection = Connection()
    made = Capture(Settings(ports=(3306,), responses="all"))
    _, answer_, _ = connection.open()
    made.feed(answer_, connection.server(mysql.greeting()), connection.client(mysql.login()))
    made.feed(connection.server(mysql.ok(sequence=2)), connection.client(SELECT), *answer(connection))
    assert told(made).rows == 2


def test_a_connection_joined_late_is_read_from_the_next_answer_on() -> None:
    connection = Connection()
    made = Capture(Settings(ports=(3306,), responses="all"))
    made.feed(*answer(connection)[3:], connection.client(SELECT), *answer(connection))
    (found,) = made.finish()
    assert (found.rows, found.flags) == (2, ("joined_late",))


@pytest.mark.parametrize("lost", [1, 3])
def test_timed_answers_count_what_was_lost_or_came_late(lost: int) -> None:
    made, connection = capture("timing")
    packets = answer(connection)
    late = packets.pop(lost)
    made.feed(*packets, late)
    assert made.counted("packets_duplicate") == (1,)
    found = told(made)
    assert (found.status, found.rows, found.bytes_out) == ("result", None, len(RESULT))
    assert found.duration_ns is not None
    assert found.latency_ns is not None
    assert found.duration_ns > found.latency_ns


def test_timed_answers_are_told_after_a_silence() -> None:
    made, connection = capture("timing")
    for packet in answer(connection):
        made.feed(packet, cut=120)
    made.pass_time(1)
    assert made.counted("statements_packed") == (1,)
    made.pass_time(2)
    assert made.counted("statements_packed") == (2,)
    found = told(made)
    assert (found.status, found.bytes_out) == ("result", len(RESULT))


def test_with_both_directions_a_syn_sent_again_changes_nothing() -> None:
    made, connection = capture()
    made.feed(Connection(server_first=2**32 - 900).client(flags=SYN), *answer(connection))
    assert told(made).rows == 2


def test_an_answer_of_the_server_alone_is_nobodys() -> None:
    made = Capture(Settings(ports=(3306,), responses="all"))
    connection = Connection()
    made.feed(connection.server(stream([ok()])))
    assert made.counted("packets_unmatched") == (1,)
