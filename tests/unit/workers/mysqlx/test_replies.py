from __future__ import annotations

import lz4.frame  # type: ignore[import-untyped]  # nobody has written its types down
import pytest

from tests.support import x_packets as x
from tests.support.packets import Connection
from tests.support.pipeline import STEP_NS, Capture
from workers.records import Statement
from workers.settings import Responses, Settings

SNAPPED = 704
"""Bytes of a packet that the kernel's filter passes where answers are timed."""
ROWS = tuple(bytes((65 + each,)) * 400 for each in range(20))
RESULT = x.result(*ROWS)


class Line:
    """A connection to the X Plugin that is logged in, seen with *responses*."""

    def __init__(self, responses: Responses) -> None:
        self.capture = Capture(Settings(ports=(3306,), x_ports=(33060,), responses=responses, gap_timeout_ns=10**9))
        self.connection = Connection(server_port=33060)
        self._cut = SNAPPED if responses == "timing" else None
        self.capture.feed(
            *self.connection.open(),
            self.connection.client(x.start(b"PLAIN", b"shop\0app\0secret")),
            self.connection.server(x.changed(11, 42) + x.authenticated()),
        )

    def ask(self, *messages: bytes) -> None:
        """The client sends these, in one segment."""
        self.capture.feed(self.connection.client(b"".join(messages)))

    def segments(self, answer: bytes, size: int) -> list[bytes]:
        """The server's packets with *answer*, of so many bytes each."""
        return [self.connection.server(answer[at : at + size]) for at in range(0, len(answer), size)]

    def answer(self, answer: bytes, size: int = 1400) -> None:
        """The server answers."""
        self.capture.feed(*self.segments(answer, size), cut=self._cut)

    def told(self) -> list[Statement]:
        """What came of it, behind the login."""
        assert self.capture.counted("packets_desync", "packets_stray") == (0, 0)
        return self.capture.finish()[1:]


def known(one: Statement) -> tuple[str, int | None, int | None, int | None]:
    """Status, rows, bytes and duration in packets."""
    return one.status, one.rows, one.bytes_out, one.duration_ns and one.duration_ns // STEP_NS


def test_with_all_an_answer_is_known_to_its_end() -> None:
    line = Line("all")
    line.ask(x.query(b"SELECT 1"))
    line.answer(RESULT, 1000)
    packets = -(-len(RESULT) // 1000)
    (one,) = line.told()
    assert known(one) == ("result", len(ROWS), len(RESULT), packets)
    assert one.latency_ns == STEP_NS


def test_with_all_segments_in_any_order_are_one_answer() -> None:
    line = Line("all")
    line.ask(x.query(b"SELECT 1"))
    first, *middle, last = line.segments(RESULT, 1000)
    asked = line.connection.client(x.query(b"DO 2"))
    line.capture.feed(last, first, *reversed(middle), first, asked, line.connection.server(x.executed(2)))
    one, two = line.told()
    assert known(one)[:3] == ("result", len(ROWS), len(RESULT))
    assert (two.status, two.affected_rows) == ("ok", 2)


def test_with_all_what_was_sent_ahead_behind_large_results_has_its_own_answer() -> None:
    line = Line("all")
    line.ask(x.query(b"A"), x.query(b"B"), x.prepare(1, b"C"), x.execute(1))
    line.answer(RESULT + x.executed(5) + x.ok() + RESULT, 777)
    assert [(one.sql, one.rows, one.affected_rows, one.bytes_out) for one in line.told()] == [
        (b"A", 20, None, len(RESULT)),
        (b"B", None, 5, len(x.executed(5))),
        (b"C", None, None, len(x.ok())),
        (b"C", 20, None, len(RESULT)),
    ]


def test_with_all_results_of_a_procedure_are_one_answer_and_an_error_behind_rows_is_its_end() -> None:
    line = Line("all")
    more = x.message(16)
    several = x.columns() + x.row(b"a") + more + x.columns() + x.row(b"b") + x.row(b"c") + x.message(14)
    line.ask(x.query(b"CALL p()"))
    line.answer(several + x.warning() + x.changed(4, 3) + x.message(17), 20)
    line.ask(x.query(b"SELECT 1"))
    line.answer(x.columns() + x.row(b"a" * 3000) + x.error(1105, b"no", b"HY000"))
    one, two = line.told()
    assert (one.status, one.rows, one.affected_rows, one.warnings) == ("result", 3, 3, 1)
    assert (two.status, two.rows, two.error_code) == ("error", 1, 1105)


def test_with_all_a_client_that_sends_on_before_it_has_read_all_is_followed() -> None:
    line = Line("all")
    line.ask(x.query(b"A"), x.query(b"B"))
    line.answer(RESULT[:3000])
    line.ask(x.query(b"C"))
    line.answer(RESULT[3000:] + x.executed(2) + x.executed(3))
    assert [(one.sql, one.rows, one.affected_rows) for one in line.told()] == [
        (b"A", 20, None),
        (b"B", None, 2),
        (b"C", None, 3),
    ]


def test_with_all_bytes_lost_inside_a_row_change_nothing() -> None:
    line = Line("all")
    line.ask(x.query(b"SELECT 1"))
    answer = x.result(b"a" * 5000, b"b")
    packets = line.segments(answer, 1000)
    line.capture.feed(*packets[:2], *packets[3:])
    line.capture.pass_time(3)
    line.ask(x.query(b"DO 2"))
    line.answer(x.executed(2))
    one, two = line.told()
    assert known(one)[:3] == ("result", 2, len(answer))
    assert (two.status, two.affected_rows) == ("ok", 2)
    assert line.capture.counted("answer_gaps", "answer_gap_bytes") == (1, 1000)


def test_with_all_bytes_lost_elsewhere_end_what_is_known_of_that_answer_only() -> None:
    line = Line("all")
    line.ask(x.query(b"SELECT 1"))
    packets = line.segments(RESULT, 1000)
    line.capture.feed(*packets[:2], *packets[3:])
    line.capture.pass_time(3)
    line.ask(x.query(b"DO 2"))
    line.answer(x.executed(2))
    one, two = line.told()
    assert known(one) == ("result", None, None, None)
    assert known(two)[:1] == ("ok",)


def test_with_all_what_is_asked_while_a_loss_is_waited_for_has_its_answer() -> None:
    line = Line("all")
    line.ask(x.query(b"SELECT 1"))
    packets = line.segments(RESULT, 1000)
    line.capture.feed(*packets[:2], *packets[3:])
    for number in (2, 3):
        line.ask(x.query(b"DO %d" % number))
        line.answer(x.executed(number))
    line.capture.pass_time(3)
    one, *others = line.told()
    assert known(one) == ("result", None, None, None)
    assert [(each.status, each.affected_rows) for each in others] == [("ok", 2), ("ok", 3)]


def test_with_all_the_rest_of_a_result_that_was_hit_is_not_taken_for_the_answer_to_what_was_sent_ahead() -> None:
    line = Line("all")
    row = x.row(b"r" * 993)
    line.ask(x.query(b"A"))
    answer = x.columns() + row * 9 + x.message(14) + x.message(17)
    first, *packets = (line.connection.server(x.columns()), *(line.connection.server(row) for _ in range(3)))
    line.capture.feed(first, packets[0], packets[2])
    asked = line.connection.client(x.query(b"B"))
    line.capture.feed(asked, *line.segments(answer[len(x.columns()) + 3 * len(row) :] + x.executed(7), 1000))
    line.capture.pass_time(3)
    assert [(one.sql, one.status, one.rows, one.affected_rows) for one in line.told()] == [
        (b"A", "result", None, None),
        (b"B", "unknown", None, None),
    ]


def test_with_all_compressed_answers_are_counted_as_they_were() -> None:
    line = Line("all")
    line.ask(x.capabilities(compression={"algorithm": "lz4_message"}))
    line.answer(x.ok())
    line.ask(x.query(b"SELECT 1"))
    packed = x.compression(lz4.frame.compress(RESULT), len(RESULT), kind=x.SERVER_COMPRESSION)
    line.answer(packed, 100)
    (one,) = line.told()
    assert known(one)[:3] == ("result", 20, len(RESULT))
    assert one.latency_ns == STEP_NS, "it begins with the first byte of what carries it"


def test_timed_an_answer_that_passes_whole_is_known_to_its_end() -> None:
    line = Line("timing")
    line.ask(x.query(b"SELECT 1"), x.query(b"DO 2"))
    line.answer(x.result(b"a", b"b") + x.executed(4))
    one, two = line.told()
    assert known(one) == ("result", 2, len(x.result(b"a", b"b")), 1)
    assert (known(two), two.affected_rows) == (("ok", None, len(x.executed(4)), 1), 4)


@pytest.mark.parametrize("size", [1400, 60_000], ids=["segments", "joined segments"])
def test_timed_an_answer_cut_short_in_each_packet_is_measured_all_the_same(size: int) -> None:
    line = Line("timing")
    line.ask(x.query(b"SELECT 1"))
    line.answer(RESULT, size)
    line.ask(x.query(b"DO 2"))
    line.answer(x.executed(2))
    one, two = line.told()
    assert known(one) == ("result", None, len(RESULT), -(-len(RESULT) // size))
    assert one.latency_ns == STEP_NS
    assert (known(two), two.affected_rows) == (("ok", None, len(x.executed(2)), 1), 2)


def test_timed_what_looks_like_messages_and_is_none_is_measured_as_part_of_its_answer() -> None:
    line = Line("timing")
    line.ask(x.query(b"SELECT 1"))
    hostile = b"a" * 1300 + x.row(b"x") * 17 + b"\xff" * 1300
    answer = x.columns() + x.row(b"a" * 900) + x.row(hostile) + x.message(17)
    at = answer.index(x.row(b"x"))
    packets = [line.connection.server(piece) for piece in (answer[: at - 20], answer[at - 20 : at], answer[at:])]
    line.capture.feed(*packets, cut=SNAPPED)
    line.ask(x.query(b"DO 2"))
    assert known(line.told()[0])[:3] == ("result", None, len(answer))


def test_timed_packets_that_were_lost_are_measured_too() -> None:
    line = Line("timing")
    line.ask(x.query(b"SELECT 1"))
    packets = line.segments(RESULT, 1400)
    line.capture.feed(*packets[:2], *packets[4:], cut=SNAPPED)
    line.ask(x.query(b"DO 2"))
    one = line.told()[0]
    assert known(one)[:3] == ("result", None, len(RESULT))


def test_timed_an_answer_of_which_nothing_more_comes_is_reported() -> None:
    line = Line("timing")
    line.ask(x.query(b"SELECT 1"))
    line.answer(RESULT)
    line.capture.pass_time(1.9)
    assert line.capture.counted("statements_packed") == (1,)
    line.capture.pass_time(0.2)
    assert line.capture.counted("statements_packed") == (2,)
    (one,) = line.told()
    assert known(one)[:3] == ("result", None, len(RESULT))


def test_timed_what_was_sent_ahead_behind_what_was_cut_short_is_never_given_an_answer() -> None:
    line = Line("timing")
    line.ask(x.query(b"A"), x.query(b"B"))
    line.answer(RESULT + x.executed(2))
    assert [(one.sql, one.status, one.affected_rows) for one in line.told()] == [
        (b"A", "result", None),
        (b"B", "unknown", None),
    ]


def test_with_none_what_is_sent_is_recorded_and_no_answer_waited_for() -> None:
    line = Line("none")
    line.ask(x.prepare(1, b"SELECT ?") + x.execute(1, 5))
    assert line.capture.counted("statements_packed") == (3,)
    assert [(one.command, one.sql, one.parameters, one.status) for one in line.told()] == [
        ("x_prepare", b"SELECT ?", None, "unknown"),
        ("x_execute", b"SELECT ?", (5,), "unknown"),
    ]


@pytest.mark.parametrize("responses", ["first", "timing", "all"])
def test_what_a_request_that_was_sent_ahead_is_answered_later_is_not_lost(responses: Responses) -> None:
    line = Line(responses)
    line.ask(x.query(b"A"), x.query(b"B"))
    line.answer(x.executed(1))
    line.ask(x.query(b"C"))
    line.answer(x.executed(2) + x.executed(3))
    assert [(one.sql, one.affected_rows) for one in line.told()] == [(b"A", 1), (b"B", 2), (b"C", 3)]


@pytest.mark.parametrize("responses", ["first", "timing", "all"])
def test_expectations_that_fail_answer_each_request_in_their_block(responses: Responses) -> None:
    line = Line(responses)
    line.ask(x.message(x.EXPECT_OPEN, x.part(2, x.number(1, 1))), x.query(b"SELEC"), x.query(b"DO 1"))
    line.answer(x.ok() + x.error(1064, b"no") + x.error(5159, b"Expectation failed: no_error"))
    line.ask(x.message(x.EXPECT_CLOSE))
    line.answer(x.error(5159, b"Expectation failed: no_error"))
    assert [(one.command, one.status, one.error_code) for one in line.told()] == [
        ("x_expect_open", "ok", None),
        ("query", "error", 1064),
        ("query", "error", 5159),
        ("x_expect_close", "error", 5159),
    ]
