"""Holes that were given up, and are filled after all."""

from __future__ import annotations

from tests.unit.workers.tcp.reader import GAP, Reader
from workers.tcp.stream import DELIVER, DUPLICATE, HELD, Stream


def test_the_stream_goes_back_to_a_hole_when_its_bytes_come_after_all() -> None:
    reader = Reader()
    reader.offer(2, b"cd")
    reader.give_up()
    assert not reader.stream.returned
    assert reader.offer(0, b"a") == DELIVER
    assert reader.stream.returned
    assert reader.offer(1, b"b") == DELIVER
    assert not reader.stream.returned, "only the first time"
    assert reader.offer(4, b"ef") == HELD, "something else than what was delivered may still come"
    reader.give_up()
    assert reader.delivered == b"\0\0cd" + b"ab" + b"\0\0" + b"ef"
    assert reader.stream.held_bytes == 0


def test_what_is_passed_over_is_marked_as_seen() -> None:
    stream = Stream()
    stream.open(0)
    stream.offer(2, b"cd", 0, 2, 0, 5)
    stream.skip()
    given = stream.take()
    assert given is not None
    assert not given.seen
    assert stream.offer(0, b"ab", 0, 2, 0, 9) == DELIVER
    assert stream.take() is None
    assert stream.skip() == 0
    passed = stream.take()
    assert passed is not None
    assert (passed.seen, passed.sequence, passed.data, passed.missing) == (True, 2, b"", 2)
    assert stream.next == 4
    assert stream.take() is None


def test_the_bytes_of_a_hole_may_come_in_any_order() -> None:
    reader = Reader()
    reader.offer(6, b"gh")
    reader.give_up()
    assert reader.offer(3, b"def") == HELD
    assert reader.stream.returned
    assert reader.offer(0, b"abc") == DELIVER
    assert reader.delivered == GAP * 6 + b"gh" + b"abcdef"


def test_what_never_came_of_a_hole_is_given_up_again() -> None:
    reader = Reader()
    reader.offer(6, b"gh")
    reader.give_up()
    reader.offer(0, b"ab")
    assert reader.offer(8, b"ij", time_ns=50) == HELD
    assert reader.stream.held_since_ns == 50, "what was delivered before does not wait"
    assert reader.give_up() == 4
    assert reader.delivered == GAP * 6 + b"gh" + b"ab" + GAP * 4 + GAP * 2 + b"ij"
    assert reader.stream.next == 1010
    assert reader.offer(2, b"cdef") == DELIVER, "and may still come"
    assert reader.stream.returned
    assert reader.stream.next == 1006


def test_nothing_is_waited_for_where_only_what_was_seen_lies_ahead() -> None:
    reader = Reader()
    reader.offer(6, b"gh", time_ns=5)
    reader.give_up()
    reader.offer(0, b"ab", time_ns=10)
    assert reader.stream.held_bytes > 0
    assert not reader.stream.is_due(2**62, 2**62)
    reader.offer(8, b"ij", time_ns=20)
    assert reader.stream.is_due(20, 2**62)
    assert not reader.stream.is_due(19, 2**62)
    assert reader.stream.is_due(0, 19), "the clock was set back"


def test_bytes_that_are_not_those_delivered_behind_a_hole_are_read_where_the_stream_comes_there() -> None:
    """The receiver took what it was sent in order; the segment far ahead it threw away."""
    reader = Reader()
    reader.offer(6, b"xx")
    reader.give_up()
    for offset, data in ((0, b"abc"), (3, b"def"), (6, b"ghijk")):
        assert reader.offer(offset, data) == DELIVER
    assert reader.delivered == GAP * 6 + b"xx" + b"abcdefghijk"
    assert reader.stream.disagreements == 1
    assert reader.stream.held_bytes == 0


def test_a_copy_of_what_was_delivered_behind_a_hole_brings_nothing_new() -> None:
    reader = Reader()
    reader.offer(6, b"gh")
    reader.give_up()
    reader.offer(8, b"ij")
    reader.offer(0, b"ab")
    assert reader.offer(6, b"ghi") == DUPLICATE
    assert reader.offer(2, b"cdefgh") == DELIVER, "with other boundaries"
    assert reader.offer(10, b"kl") == HELD
    reader.give_up()
    assert reader.delivered == GAP * 6 + b"ghij" + b"ab" + b"cdef" + GAP * 4 + b"kl"
    assert reader.offer(7, b"hij") == DUPLICATE, "later too"
    assert reader.stream.disagreements == 0


def test_what_was_passed_over_is_a_hole_for_what_differs_from_it() -> None:
    reader = Reader()
    reader.offer(2, b"xx")
    reader.give_up()
    reader.offer(0, b"ab")
    reader.offer(4, b"yy")
    reader.give_up()
    assert reader.offer(2, b"cd") == DELIVER
    assert reader.stream.returned
    assert reader.delivered.endswith(b"yycd")
    assert reader.stream.disagreements == 1


def test_a_segment_over_the_end_of_what_was_seen_brings_what_is_new() -> None:
    reader = Reader()
    reader.offer(4, b"ef")
    reader.give_up()
    reader.offer(0, b"ab")
    assert reader.offer(2, b"cdefgh") == DELIVER
    reader.give_up()
    assert reader.delivered == GAP * 4 + b"ef" + b"ab" + b"cd" + GAP * 2 + b"gh"


def test_a_hole_inside_a_hole_is_gone_back_to_as_well() -> None:
    reader = Reader()
    reader.offer(50, b"x" * 5)
    reader.give_up()
    reader.offer(0, b"a")
    reader.offer(20, b"y")
    reader.give_up()
    assert reader.offer(1, b"b") == DELIVER
    assert reader.stream.returned
    assert reader.stream.next == 1002


def test_the_stream_goes_back_to_any_of_several_holes() -> None:
    reader = Reader()
    for number in range(1, 9):  # some more than are told apart
        reader.offer(number * 100, b"x")
        reader.give_up()
    for number in (3, 0, 7):
        assert reader.offer(number * 100 + 50, b"y") == HELD
        while reader.stream.held_bytes:
            reader.give_up()
    assert reader.delivered.count(b"y") == 3
    assert reader.stream.kept_bytes < 3000


def test_a_segment_that_fills_two_holes_leads_back_to_the_lower_one() -> None:
    reader = Reader()
    reader.offer(0, b"a")
    reader.offer(3, b"d")
    reader.give_up()
    reader.offer(5, b"f")
    reader.give_up()
    reader.offer(2, b"cde")  # into both holes, and the lower one is given up a second time: it is now the younger
    reader.give_up()
    assert reader.offer(1, b"bcdef") == DELIVER
    reader.give_up()
    assert b"b" in reader.delivered
    assert reader.stream.held_bytes == 0


def test_only_bytes_lead_back() -> None:
    reader = Reader()
    reader.offer(2, b"cd")
    reader.give_up()
    assert reader.offer(0, b"", missing=2) == DUPLICATE
    assert not reader.stream.returned


def test_a_hole_that_is_settled_is_not_gone_back_to() -> None:
    reader = Reader()
    reader.offer(2, b"cd")
    reader.give_up()
    assert reader.stream.kept_bytes == 2
    reader.stream.settle()
    assert reader.stream.kept_bytes == 0
    assert reader.offer(0, b"ab") == DUPLICATE


def test_a_hole_is_forgotten_before_its_numbers_come_again() -> None:
    reader = Reader()
    reader.offer(2, b"cd")
    reader.give_up()
    reader.stream.age()
    assert reader.stream.kept_bytes == 2
    reader.offer(4, b"e", missing=0x3FFFFFF0)
    reader.offer(0x3FFFFFF5, b"e" * 30)
    reader.stream.age()
    assert reader.stream.kept_bytes == 0
    assert reader.offer(0x3FFFFFF5 + 29, b"ef") == DELIVER


def test_little_is_kept_of_what_came_behind_a_hole() -> None:
    reader = Reader()
    reader.offer(2, b"c" * 5000)
    reader.give_up()
    reader.offer(5002, b"d" * 5000)
    assert reader.stream.kept_bytes == 1024


def test_copies_can_be_done_without() -> None:
    reader = Reader()
    reader.offer(2, b"cd")
    reader.give_up()
    reader.stream.forget_copies()
    assert reader.stream.kept_bytes == 0
    assert reader.offer(0, b"ab") == DELIVER
    assert reader.stream.returned
    assert reader.offer(2, b"cd") == DELIVER, "it cannot be told from something else"
