from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collector.aggregator.gate import FIRST_WAIT_NS, LONGEST_WAIT_NS, Gate

SECOND = 1_000_000_000
NOW = 1000 * SECOND


def test_so_many_go_at_once() -> None:
    gate = Gate(lanes=2, bytes_per_s=0)
    gate.began(NOW, 100)
    assert gate.opens_ns(1) == 0
    assert gate.opens_ns(2) is None
    gate.adapt(lanes=3, bytes_per_s=0)
    assert gate.opens_ns(2) == 0


def test_the_pause_after_an_object_makes_its_rate_good() -> None:
    gate = Gate(lanes=4, bytes_per_s=1000)
    gate.began(NOW, 2500)
    assert gate.opens_ns(1) == NOW + 2.5 * SECOND


def test_after_a_failure_one_goes_alone_and_later_each_time() -> None:
    gate = Gate(lanes=4, bytes_per_s=0)
    waits = []
    now = NOW
    for _ in range(9):
        gate.failed(now, now + 1, 0.0)
        assert gate.opens_ns(1) is None
        opens = gate.opens_ns(0)
        assert opens is not None
        waits.append((opens - now - 1) / SECOND)
        now = opens
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_those_that_were_away_when_one_failed_tell_of_the_same_trouble() -> None:
    gate = Gate(lanes=4, bytes_per_s=0)
    for _ in range(4):
        gate.failed(NOW, NOW + SECOND, 0.0)
    assert gate.opens_ns(0) == NOW + SECOND + FIRST_WAIT_NS


def test_one_that_went_opens_all_lanes_again() -> None:
    gate = Gate(lanes=2, bytes_per_s=0)
    gate.failed(NOW, NOW, 0.0)
    gate.went()
    assert gate.opens_ns(1) == 0
    gate.failed(NOW + 5, NOW + 5, 0.0)
    assert gate.opens_ns(0) == NOW + 5 + FIRST_WAIT_NS


@given(st.integers(1, 200), st.floats(0, 1))
def test_chance_shortens_a_wait_by_up_to_a_half(failures: int, chance: float) -> None:
    gate = Gate(lanes=1, bytes_per_s=0)
    for _ in range(failures):
        gate.failed(NOW, NOW, chance)
        gate.failed(NOW + 1, NOW + 1, chance)
    opens = gate.opens_ns(0)
    assert opens is not None
    assert FIRST_WAIT_NS // 2 <= opens - NOW - 1 <= LONGEST_WAIT_NS
