from __future__ import annotations

import pytest

from tests.unit.workers.tcp.reader import GAP, LAST, Reader
from workers.tcp.pieces import Held
from workers.tcp.stream import DELIVER, DUPLICATE, EMPTY, HELD, STRAY, Stream

# --- order


def test_segments_in_order_are_delivered_at_once() -> None:
    reader = Reader()
    assert [reader.offer(0, b"abc"), reader.offer(3, b"de")] == [DELIVER, DELIVER]
    assert reader.delivered == b"abcde"
    assert reader.stream.held_bytes == 0
    assert reader.stream.next == 1005


def test_a_segment_behind_a_hole_waits_until_the_hole_is_filled() -> None:
    reader = Reader()
    assert reader.offer(3, b"def") == HELD
    assert reader.delivered == b""
    assert reader.offer(0, b"abc") == DELIVER
    assert reader.delivered == b"abcdef"


def test_how_far_a_stream_was_seen_is_known() -> None:
    reader = Reader()
    reader.offer(0, b"abc")
    assert reader.stream.farthest() == 1003
    reader.offer(10, b"xyz", missing=4)
    reader.offer(5, b"a")
    assert reader.stream.farthest() == 1017


def test_segments_in_reverse_order_come_out_in_order() -> None:
    reader = Reader()
    for offset in range(9, -1, -1):
        reader.offer(offset, b"abcdefghij"[offset : offset + 1])
    assert reader.delivered == b"abcdefghij"


def test_only_what_follows_without_another_hole_is_taken() -> None:
    reader = Reader()
    reader.offer(6, b"gh")
    reader.offer(2, b"cd")
    reader.offer(0, b"ab")
    assert reader.delivered == b"abcd"
    reader.offer(4, b"ef")
    assert reader.delivered == b"abcdefgh"


def test_what_is_held_is_a_copy_with_its_place_and_time() -> None:
    stream = Stream()
    stream.open(0)
    stream.offer(5, b"..held..", 2, 6, 0, 77)
    stream.offer(0, b"first", 0, 5, 0, 78)
    held = stream.take()
    assert held is not None
    assert (held.sequence, held.data, held.missing, held.time_ns) == (5, b"held", 0, 77)
    assert stream.take() is None


def test_what_is_held_keeps_the_acknowledgment_of_its_own_segment() -> None:
    stream = Stream()
    stream.open(0)
    for sequence, acknowledgment in ((2, LAST), (1, 7), (0, 8)):
        stream.acknowledgment = acknowledgment
        stream.offer(sequence, b"x", 0, 1, 0, 0)
    assert [held.acknowledgment for held in (stream.take(), stream.take()) if held] == [7, LAST]


def test_a_held_piece_is_made_of_what_it_is_given() -> None:
    held = Held(LAST, b"data", 3, 2**62, LAST)
    assert (held.sequence, held.data, held.missing, held.time_ns) == (LAST, b"data", 3, 2**62)
    assert held.acknowledgment == LAST


def test_a_connection_joined_late_begins_with_the_first_segment_seen() -> None:
    stream = Stream()
    assert not stream.started
    assert stream.offer(123456, b"abc", 0, 3, 0, 0) == DELIVER
    assert stream.started
    assert stream.next == 123459


def test_opened_at_a_number_a_stream_waits_for_just_that() -> None:
    stream = Stream()
    stream.open(100)
    assert stream.started
    assert stream.offer(101, b"b", 0, 1, 0, 0) == HELD
    assert stream.offer(100, b"a", 0, 1, 0, 0) == DELIVER


# --- duplicates, keep-alives, empty segments


def test_a_segment_sent_again_is_a_duplicate() -> None:
    reader = Reader()
    reader.offer(0, b"abc")
    assert reader.offer(0, b"abc") == DUPLICATE
    assert reader.offer(1, b"b") == DUPLICATE
    assert reader.delivered == b"abc"


def test_a_held_segment_sent_again_is_a_duplicate() -> None:
    reader = Reader()
    assert reader.offer(3, b"def") == HELD
    held = reader.stream.held_bytes
    assert reader.offer(3, b"def") == DUPLICATE
    assert reader.offer(4, b"e") == DUPLICATE
    assert reader.stream.held_bytes == held


@pytest.mark.parametrize("data", [b"\0", b"x"])
def test_a_keep_alive_of_one_byte_before_the_next_is_a_duplicate(data: bytes) -> None:
    reader = Reader()
    reader.offer(0, b"abc")
    assert reader.offer(2, data) == DUPLICATE
    assert reader.offer(3, b"def") == DELIVER
    assert reader.delivered == b"abcdef"


def test_a_keep_alive_before_the_first_byte_is_a_duplicate() -> None:
    reader = Reader()
    assert reader.offer(-1, b"\0") == DUPLICATE
    assert reader.offer(0, b"abc") == DELIVER


@pytest.mark.parametrize("offset", [-1, 0, 3, 100])
def test_a_segment_without_bytes_is_empty_wherever_it_lies(offset: int) -> None:
    reader = Reader()
    reader.offer(0, b"abc")
    assert reader.offer(offset, b"") == EMPTY
    assert reader.stream.next == 1003
    assert reader.stream.held_bytes == 0


def test_a_segment_without_bytes_starts_no_stream() -> None:
    stream = Stream()
    assert stream.offer(100, b"", 0, 0, 0, 0) == EMPTY
    assert not stream.started


# --- overlap


def test_of_a_segment_that_overlaps_what_was_delivered_only_the_rest_is_new() -> None:
    reader = Reader()
    reader.offer(0, b"abcd")
    assert reader.offer(2, b"XXef") == DELIVER
    assert reader.delivered == b"abcdef"


def test_of_held_copies_that_disagree_the_first_is_delivered_and_it_is_counted() -> None:
    reader = Reader()
    reader.offer(3, b"def")
    assert reader.offer(2, b"cXXXg") == HELD
    assert reader.stream.disagreements == 1
    reader.offer(0, b"ab")
    assert reader.delivered == b"abcdefg"


def test_a_held_segment_wins_over_one_in_order_that_came_later() -> None:
    reader = Reader()
    reader.offer(3, b"def")
    assert reader.offer(0, b"abcXXXghi") == DELIVER
    assert reader.delivered == b"abcdefghi"
    assert reader.stream.disagreements == 1
    assert reader.stream.held_bytes == 0


def test_a_held_segment_wins_over_one_in_order_that_ends_inside_it() -> None:
    reader = Reader()
    reader.offer(3, b"def")
    reader.offer(0, b"abcX")
    assert reader.delivered == b"abcdef"
    assert reader.stream.disagreements == 1


def test_one_segment_in_order_fills_several_holes_around_what_is_held() -> None:
    reader = Reader()
    reader.offer(2, b"cd")
    reader.offer(6, b"gh")
    assert reader.offer(0, b"ab..ef..ij") == DELIVER
    assert reader.delivered == b"abcdefghij"
    assert reader.stream.disagreements == 2


def test_one_segment_out_of_order_fills_several_holes_around_what_is_held() -> None:
    reader = Reader()
    reader.offer(4, b"ef")
    reader.offer(8, b"ij")
    assert reader.offer(2, b"cd..gh..kl") == HELD
    assert reader.stream.disagreements == 2
    reader.offer(0, b"ab")
    assert reader.delivered == b"abcdefghijkl"


def test_copies_that_agree_are_no_disagreement() -> None:
    reader = Reader()
    reader.offer(3, b"def")
    reader.offer(2, b"cdefg")
    reader.offer(0, b"abcd")
    assert reader.delivered == b"abcdefg"
    assert reader.stream.disagreements == 0


def test_a_disagreement_in_a_single_byte_is_counted() -> None:
    reader = Reader()
    reader.offer(3, b"def")
    reader.offer(5, b"Xg")
    assert reader.stream.disagreements == 1


# --- wrap of sequence numbers


@pytest.mark.parametrize("first", [LAST - 4, LAST, 0, 0x7FFFFFFD, 0x80000000])
def test_sequence_numbers_wrap_wherever_it_happens(first: int) -> None:
    reader = Reader(first)
    assert reader.offer(6, b"ghi") == HELD
    assert reader.offer(3, b"def") == HELD
    assert reader.offer(-1, b"\0") == DUPLICATE
    assert reader.offer(0, b"abcd") == DELIVER
    assert reader.delivered == b"abcdefghi"
    assert reader.stream.next == (first + 9) & LAST
    assert reader.stream.disagreements == 0


def test_what_lies_further_away_than_a_window_reaches_is_stray() -> None:
    reader = Reader()
    reader.offer(0, b"abc", time_ns=5)
    assert reader.offer(3 + 0x40000000, b"x", time_ns=7) == STRAY
    assert reader.offer(3 - 0x40000001, b"x", time_ns=8) == STRAY
    assert reader.offer(3 + 0x80000000, b"x", time_ns=9) == STRAY
    assert reader.stream.strayed_ns == 7, "since then"
    assert reader.offer(3 - 0x40000000, b"x") == DUPLICATE, "the farthest that is behind"
    assert reader.offer(3 + 0x3FFFFFFF, b"x") == HELD, "the farthest that is ahead"
    assert reader.offer(3, b"def") == DELIVER
    assert reader.stream.strayed_ns == 0


def test_a_stream_that_is_elsewhere_can_be_followed_there_and_back() -> None:
    stream = Stream()
    stream.open(1000)
    stream.restart(0x80000000)
    assert stream.offer(0x80000000, b"xyz", 0, 3, 0, 0) == DELIVER
    assert not stream.returned
    assert stream.offer(0x80000010, b"held", 0, 4, 0, 0) == HELD
    assert stream.offer(1004, b"ef", 0, 2, 0, 0) == HELD
    assert stream.returned
    assert stream.next == 1000
    assert stream.offer(1000, b"abcd", 0, 4, 0, 0) == DELIVER
    held = stream.take()
    assert held is not None
    assert held.data == b"ef"
    assert stream.held_bytes == 0, "nothing of the other place is kept"
    assert stream.offer(0x80000003, b"again", 0, 5, 0, 0) == DELIVER


def test_a_copy_of_what_was_delivered_last_that_differs_is_counted() -> None:
    reader = Reader()
    reader.offer(0, b"SELECT 1")
    assert reader.offer(0, b"SELECT 1") == DUPLICATE
    assert reader.stream.disagreements == 0
    assert reader.offer(0, b"SELECT 2") == DUPLICATE
    assert reader.stream.disagreements == 1
    assert reader.delivered == b"SELECT 1"


# --- segments that were not captured whole


def test_bytes_not_captured_are_declared_missing() -> None:
    reader = Reader()
    assert reader.offer(0, b"abc", missing=4) == DELIVER
    assert reader.offer(7, b"hi") == DELIVER
    assert reader.delivered == b"abc" + GAP * 4 + b"hi"


def test_a_segment_of_which_nothing_was_captured_is_a_gap() -> None:
    reader = Reader()
    assert reader.offer(0, b"", missing=3) == DELIVER
    assert reader.offer(3, b"def") == DELIVER
    assert reader.delivered == GAP * 3 + b"def"


def test_bytes_not_captured_now_that_were_seen_before_are_not_missing() -> None:
    reader = Reader()
    reader.offer(0, b"abcdef")
    assert reader.offer(0, b"ab", missing=6) == DELIVER
    assert (reader.stream.start, reader.stream.gap) == (reader.stream.stop, 2)
    assert reader.offer(8, b"ij") == DELIVER
    assert reader.delivered == b"abcdef" + GAP * 2 + b"ij"


def test_a_copy_of_which_nothing_new_was_captured_is_a_duplicate() -> None:
    reader = Reader()
    reader.offer(0, b"abcdef")
    assert reader.offer(0, b"ab", missing=4) == DUPLICATE
    assert reader.offer(6, b"gh") == DELIVER


def test_bytes_not_captured_of_a_held_segment_are_declared_missing_in_their_turn() -> None:
    reader = Reader()
    assert reader.offer(3, b"de", missing=2) == HELD
    assert reader.offer(7, b"hi") == HELD
    reader.offer(0, b"abc")
    assert reader.delivered == b"abcde" + GAP * 2 + b"hi"
    assert reader.stream.held_bytes == 0


def test_bytes_not_captured_that_are_held_already_are_not_missing() -> None:
    reader = Reader()
    reader.offer(4, b"ef")
    assert reader.offer(0, b"ab", missing=6) == DELIVER
    assert reader.delivered == b"ab" + GAP * 2 + b"ef"
    assert reader.offer(6, b"gh") == DELIVER


def test_bytes_not_captured_right_before_a_held_segment_are_missing() -> None:
    reader = Reader()
    reader.offer(4, b"ef")
    assert reader.offer(0, b"ab", missing=2) == DELIVER
    assert reader.delivered == b"ab" + GAP * 2 + b"ef"


def test_bytes_not_captured_of_a_held_segment_may_still_come() -> None:
    reader = Reader()
    reader.offer(2, b"cd", missing=4)
    assert reader.offer(6, b"gh") == HELD
    assert reader.offer(4, b"ef") == HELD
    reader.offer(0, b"ab")
    assert reader.delivered == b"abcdefgh"


def test_bytes_not_captured_before_the_next_held_segment_end_there() -> None:
    reader = Reader()
    reader.offer(6, b"gh")
    assert reader.offer(2, b"cd", missing=4) == HELD
    reader.offer(0, b"ab")
    assert reader.delivered == b"abcd" + GAP * 2 + b"gh"


def test_a_held_segment_not_captured_whole_sent_again_is_a_duplicate() -> None:
    reader = Reader()
    assert reader.offer(3, b"de", missing=2) == HELD
    held = reader.stream.held_bytes
    assert reader.offer(3, b"de", missing=2) == DUPLICATE
    assert reader.offer(3, b"", missing=4) == DUPLICATE
    assert reader.stream.held_bytes == held
    assert reader.offer(3, b"de", missing=3) == HELD, "that one tells of a byte more"
    reader.offer(0, b"abc")
    assert reader.delivered == b"abcde" + GAP * 3


def test_a_held_gap_whose_bytes_come_after_all_leaves_nothing() -> None:
    reader = Reader()
    assert reader.offer(2, b"", missing=2) == HELD
    assert reader.offer(2, b"cd") == HELD
    reader.offer(0, b"ab")
    assert reader.delivered == b"abcd"
    assert reader.stream.held_bytes == 0


# --- holes given up


def test_a_hole_given_up_is_as_large_as_what_never_came() -> None:
    reader = Reader()
    reader.offer(0, b"ab")
    reader.offer(7, b"hi")
    assert reader.give_up() == 5
    assert reader.delivered == b"ab" + GAP * 5 + b"hi"
    assert reader.stream.held_bytes == 0


def test_holes_are_given_up_one_at_a_time() -> None:
    reader = Reader()
    reader.offer(2, b"cd")
    reader.offer(6, b"gh")
    assert reader.give_up() == 2
    assert reader.delivered == GAP * 2 + b"cd"
    assert reader.stream.held_bytes > 0
    assert reader.give_up() == 2
    assert reader.delivered == GAP * 2 + b"cd" + GAP * 2 + b"gh"


def test_without_anything_held_there_is_no_hole() -> None:
    reader = Reader()
    reader.offer(0, b"abc")
    assert reader.give_up() == 0
    assert reader.stream.next == 1003


def test_a_hole_that_wraps_has_its_size_too() -> None:
    reader = Reader(LAST - 1)
    reader.offer(5, b"f")
    assert reader.give_up() == 5


# --- what waiting costs


def test_held_bytes_covers_the_bytes_and_a_share_for_every_piece() -> None:
    many, one = Reader(), Reader()
    for offset in range(1, 201, 2):
        many.offer(offset, b"x")
    one.offer(1, b"x" * 100)
    assert one.stream.held_bytes >= 100
    assert many.stream.held_bytes >= 100 * 64, "a hundred objects of one byte are no hundred bytes"


def test_a_segment_that_fills_between_held_ones_costs_only_what_is_new() -> None:
    reader = Reader()
    reader.offer(1000, b"x" * 1000)
    before = reader.stream.held_bytes
    reader.offer(900, b"x" * 1100)
    assert 100 <= reader.stream.held_bytes - before < 1000


def test_once_all_is_taken_nothing_is_held() -> None:
    reader = Reader()
    for offset in (9, 3, 6):
        reader.offer(offset, b"xyz")
    reader.offer(0, b"abcdef")
    assert reader.stream.held_bytes == 0


def test_the_oldest_of_what_is_held_tells_since_when() -> None:
    reader = Reader()
    reader.offer(6, b"gh", time_ns=100)
    reader.offer(2, b"cd", time_ns=200)
    reader.offer(10, b"kl", time_ns=300)
    assert reader.stream.held_since_ns == 100
    reader.offer(0, b"ab", time_ns=400)
    assert reader.stream.held_since_ns == 100
    reader.offer(4, b"ef", time_ns=500)
    assert reader.stream.held_since_ns == 300


def test_the_oldest_counts_also_where_another_comes_first() -> None:
    reader = Reader()
    reader.offer(10, b"kl", time_ns=100)
    reader.offer(6, b"gh", time_ns=200)
    reader.offer(2, b"cd", time_ns=300)
    reader.offer(0, b"ab", time_ns=400)
    assert reader.stream.held_since_ns == 100


def test_a_new_hole_has_its_own_time() -> None:
    reader = Reader()
    reader.offer(2, b"cd", time_ns=100)
    reader.offer(0, b"ab", time_ns=150)
    reader.offer(6, b"gh", time_ns=900)
    assert reader.stream.held_since_ns == 900


# --- a direction of which not all is seen


def test_a_segment_that_ends_behind_all_before_it_is_news() -> None:
    stream = Stream()
    assert stream.advance(LAST - 1, 4)
    assert stream.started
    assert not stream.advance(LAST - 1, 4)
    assert not stream.advance(0, 1)
    assert stream.advance(1, 2), "it ends one byte later"
    assert stream.advance(1000, 1), "what lies between was not seen, and is not waited for"
    assert not stream.advance(3, 10)
