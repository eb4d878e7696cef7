from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collector.reading.histogram import MOST_ERROR, Histogram, histogram, percentile

VALUES = st.lists(st.integers(0, 1 << 64) | st.integers(0, 200), min_size=1, max_size=60)


@given(VALUES, st.floats(0, 100))
def test_a_percentile_is_off_by_no_more_than_is_stated(values: list[int], percent: float) -> None:
    rank = max(1, -(-len(values) * percent // 100))
    exact = sorted(values)[int(rank) - 1]
    assert abs(percentile(histogram(values), percent) - exact) <= exact * MOST_ERROR


@given(VALUES, VALUES)
def test_parts_add_up_to_the_whole(one: list[int], other: list[int]) -> None:
    assert histogram(one) + histogram(other) == histogram(one + other)


@given(st.integers(0, 1 << 64))
def test_small_numbers_are_exact_and_the_number_of_buckets_is_bounded(value: int) -> None:
    (bucket,) = histogram([value])
    assert 0 <= bucket < 65 * 32
    if value < 64:
        assert percentile(histogram([value]), 50) == value


def test_nothing_has_no_percentile() -> None:
    assert percentile(Histogram(), 50) == 0
