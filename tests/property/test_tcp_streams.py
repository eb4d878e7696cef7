"""Whatever a network does to segments, a stream gives each byte once, in its place, as it came first."""

from __future__ import annotations

import dataclasses
import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from workers.tcp.stream import DELIVER, DUPLICATE, HELD, Stream

WRAP = 2**32

FIRSTS = st.one_of(st.integers(WRAP - 300, WRAP - 1), st.integers(2**31 - 300, 2**31), st.integers(0, WRAP - 1))


@dataclasses.dataclass(frozen=True)
class Segment:
    """A piece of a stream at *offset*; of its bytes the last *missing* were not captured."""

    offset: int
    data: bytes
    missing: int = 0

    @property
    def end(self) -> int:
        return self.offset + len(self.data) + self.missing


class Delivery:
    """A stream, and for each of its bytes what a caller was given: the byte, or None where it was declared missing."""

    def __init__(self, first: int) -> None:
        self._first = first
        self.stream = Stream()
        self.stream.open(first)
        self.out: list[int | None] = []
        self.repeated = 0
        """Bytes that were given more than once."""
        self._at = 0

    def offer(self, segment: Segment) -> int:
        before = self.stream.held_bytes
        sequence = (self._first + segment.offset) % WRAP
        verdict = self.stream.offer(sequence, segment.data, 0, len(segment.data), segment.missing, 0)
        if verdict == DELIVER:
            given = segment.data[self.stream.start : self.stream.stop]
            assert 0 <= self.stream.start <= self.stream.stop <= len(segment.data)
            if self.stream.returned:
                self._at = segment.offset + self.stream.start
            self._put([*given, *[None] * self.stream.gap])
            self._take()
        elif verdict == HELD:
            self._at = (self.stream.next - self._first) % WRAP if self.stream.returned else self._at
            assert self.stream.held_bytes > 0
        else:
            assert self.stream.held_bytes == before
        assert (self.stream.next - self._first) % WRAP == self._at
        return verdict

    def give_up(self) -> None:
        """Give one hole up."""
        self._put([None] * self.stream.skip())
        self._take()

    def give_all_up(self) -> None:
        while self.stream.held_bytes:
            before = self._at
            self.give_up()
            assert self._at > before, "each round leads on"

    def _take(self) -> None:
        while (held := self.stream.take()) is not None:
            if held.seen:
                assert not held.data
                self._at += held.missing
            else:
                self._put([*held.data, *[None] * held.missing])

    def _put(self, given: list[int | None]) -> None:
        """What comes next; a place that was declared missing may be filled later."""
        self.out += [None] * (self._at + len(given) - len(self.out))
        for byte in given:
            if byte is not None:
                self.repeated += self.out[self._at] is not None
                self.out[self._at] = byte
            self._at += 1


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """A stream in which neighbours differ, so that a byte out of place shows."""
    size = draw(st.integers(1, 120))
    start = draw(st.integers(0, 255))
    return bytes((start + 37 * place) % 256 for place in range(size))


@st.composite
def cuts(draw: st.DrawFn, size: int) -> list[tuple[int, int]]:
    """Where a stream of *size* bytes is cut; the pieces cover it."""
    inner = draw(st.sets(st.integers(1, size - 1), max_size=12)) if size > 1 else set()
    places = [0, *sorted(inner), size]
    return list(itertools.pairwise(places))


@st.composite
def ranges(draw: st.DrawFn, size: int) -> list[tuple[int, int]]:
    """Pieces that begin and end anywhere."""
    pairs = draw(st.lists(st.tuples(st.integers(0, size), st.integers(0, size)), max_size=10))
    return [(min(pair), max(pair)) for pair in pairs]


@st.composite
def arrivals(draw: st.DrawFn, size: int, *, complete: bool = True) -> list[tuple[int, int]]:
    """A stream's pieces as they arrive: in any order, some doubled or overlapping, some lost unless *complete*."""
    pieces = draw(cuts(size))
    if not complete:
        pieces = [piece for piece in pieces if draw(st.booleans())]
    return draw(st.permutations(pieces + draw(ranges(size) if complete else st.just([]))))


@given(st.data(), FIRSTS, texts())
@settings(max_examples=300)
def test_cut_reordered_doubled_and_overlapping_segments_give_the_stream(
    data: st.DataObject, first: int, text: bytes
) -> None:
    delivery = Delivery(first)
    for begin, end in data.draw(arrivals(len(text))):
        delivery.offer(Segment(begin, text[begin:end]))
    assert delivery.out == list(text)
    assert delivery.stream.held_bytes == 0
    assert delivery.stream.disagreements == 0


@given(st.data(), FIRSTS, st.integers(1, 120))
@settings(max_examples=300)
def test_of_copies_that_disagree_the_first_to_come_is_delivered(data: st.DataObject, first: int, size: int) -> None:
    delivery = Delivery(first)
    came_first: dict[int, int] = {}
    differed = False
    for number, (begin, end) in enumerate(data.draw(arrivals(size))):
        differed = differed or any(place in came_first for place in range(max(begin, len(delivery.out)), end))
        for place in range(begin, end):
            came_first.setdefault(place, number)
        delivery.offer(Segment(begin, bytes([number]) * (end - begin)))
    assert delivery.out == [came_first[place] for place in range(size)]
    assert delivery.stream.disagreements > 0 or not differed, "copies of what waits are compared"
    assert delivery.stream.held_bytes == 0


@given(st.data(), FIRSTS, texts())
@settings(max_examples=300)
def test_where_segments_are_lost_just_those_are_declared_missing(data: st.DataObject, first: int, text: bytes) -> None:
    delivery = Delivery(first)
    expected: list[int | None] = [None] * len(text)
    last = 0
    for begin, end in data.draw(arrivals(len(text), complete=False)):
        delivery.offer(Segment(begin, text[begin:end]))
        expected[begin:end] = text[begin:end]
        last = max(last, end)
    delivery.give_all_up()
    assert delivery.out == expected[:last]
    assert delivery.stream.held_bytes == 0


@given(st.data(), FIRSTS, texts())
@settings(max_examples=300)
def test_whatever_is_lost_given_up_early_or_not_captured_no_byte_is_delivered_that_was_not_sent(
    data: st.DataObject, first: int, text: bytes
) -> None:
    delivery = Delivery(first)
    pieces = data.draw(st.permutations(data.draw(cuts(len(text))) + data.draw(ranges(len(text)))))
    for begin, end in pieces:
        captured = data.draw(st.integers(begin, end))
        verdict = delivery.offer(Segment(begin, text[begin:captured], end - captured))
        if verdict == HELD and data.draw(st.booleans()):
            delivery.give_up()
    delivery.offer(Segment(len(text), b"."))
    delivery.give_all_up()
    assert all(given is None or given == sent for given, sent in zip(delivery.out, text + b".", strict=True))
    assert delivery.stream.held_bytes == 0


@given(st.data(), FIRSTS, texts())
@settings(max_examples=300)
def test_given_up_early_or_not_all_that_comes_is_delivered(data: st.DataObject, first: int, text: bytes) -> None:
    """Holes that were given up too soon are filled when their bytes come, in whatever order."""
    delivery = Delivery(first)
    for begin, end in data.draw(arrivals(len(text))):
        if delivery.offer(Segment(begin, text[begin:end])) == HELD and data.draw(st.booleans()):
            delivery.give_up()
    delivery.give_all_up()
    assert delivery.out == list(text)
    assert delivery.stream.disagreements == 0


@given(st.data(), FIRSTS, texts())
@settings(max_examples=200)
def test_where_one_hole_was_given_up_too_soon_no_byte_comes_twice(data: st.DataObject, first: int, text: bytes) -> None:
    delivery = Delivery(first)
    given_up = False
    for begin, end in data.draw(arrivals(len(text))):
        if delivery.offer(Segment(begin, text[begin:end])) == HELD and not given_up:
            delivery.give_up()
            given_up = True
    delivery.give_all_up()
    assert delivery.out == list(text)
    assert delivery.repeated == 0


@given(st.data(), FIRSTS, texts(), st.integers(1, 1 << 29))
@settings(max_examples=300)
def test_a_segment_from_far_ahead_takes_nothing_from_what_follows(
    data: st.DataObject, first: int, text: bytes, far: int
) -> None:
    """Whoever sends what the receiver throws away, waits until the hole is given up, and goes on, is still heard."""
    delivery = Delivery(first)
    delivery.offer(Segment(0, b"begin"))
    delivery.offer(Segment(5 + far, data.draw(st.binary(min_size=1, max_size=60))))
    while delivery.stream.held_bytes:  # not give_all_up(): it writes down each of the missing bytes
        assert delivery.stream.skip() == far
        while delivery.stream.take() is not None:
            continue
    heard = b""
    for begin, end in data.draw(cuts(len(text))):
        piece = text[begin:end]
        verdict = delivery.stream.offer((first + 5 + begin) % WRAP, piece, 0, len(piece), 0, 0)
        assert verdict == DELIVER
        assert delivery.stream.returned == (begin == 0)
        heard += piece[delivery.stream.start : delivery.stream.stop]
        while (held := delivery.stream.take()) is not None:
            heard += held.data
    assert heard == text


@given(st.data(), FIRSTS, texts())
@settings(max_examples=300)
def test_a_byte_declared_missing_was_not_captured_before(data: st.DataObject, first: int, text: bytes) -> None:
    """Nothing that was there when its turn came is given away, held or offered just now."""
    delivery = Delivery(first)
    captured: set[int] = set()
    for begin, end in data.draw(st.permutations(data.draw(cuts(len(text))) + data.draw(ranges(len(text))))):
        before = len(delivery.out)
        stop = data.draw(st.integers(begin, end))
        captured |= set(range(begin, stop))
        delivery.offer(Segment(begin, text[begin:stop], end - stop))
        lost = {place for place in range(before, len(delivery.out)) if delivery.out[place] is None}
        assert not lost & captured
    delivery.offer(Segment(len(text), b"."))
    delivery.give_all_up()
    assert len(delivery.out) == len(text) + 1
    assert delivery.stream.held_bytes == 0


@given(st.data(), FIRSTS, texts())
def test_a_segment_sent_again_changes_nothing(data: st.DataObject, first: int, text: bytes) -> None:
    delivery = Delivery(first)
    for begin, end in data.draw(arrivals(len(text), complete=False)):
        captured = data.draw(st.integers(begin, end))
        segment = Segment(begin, text[begin:captured], end - captured)
        delivery.offer(segment)
        held, out = delivery.stream.held_bytes, list(delivery.out)
        if begin < end:
            assert delivery.offer(segment) == DUPLICATE
        assert (delivery.stream.held_bytes, delivery.out) == (held, out)


@given(
    st.lists(
        st.tuples(st.integers(0, WRAP - 1), st.binary(max_size=20), st.integers(0, 2**33), st.integers(0, 4)),
        max_size=40,
    )
)
@settings(max_examples=300)
def test_segments_that_make_no_sense_are_survived_and_leave_nothing(
    segments: list[tuple[int, bytes, int, int]],
) -> None:
    stream = Stream()
    for sequence, data, missing, action in segments:
        if stream.offer(sequence, data, 0, len(data), missing, 0) == DELIVER:
            assert 0 <= stream.start <= stream.stop <= len(data)
            assert 0 <= stream.gap <= missing
            while stream.take() is not None:
                pass
        if action == 0:
            assert stream.skip() >= 0
            while stream.take() is not None:
                pass
    rounds = 0
    while stream.held_bytes:
        stream.skip()
        while stream.take() is not None:
            pass
        rounds += 1
        assert rounds <= 40 * 40, "each round gives a hole up"
    assert stream.take() is None
