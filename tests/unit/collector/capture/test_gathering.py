from __future__ import annotations

import pytest

from collector.capture.gathering import LONGEST_S, SHORTEST_S, Gathering


def pause_at(rate: float, room: int) -> float:
    """After packets have come at that rate for a second."""
    made = Gathering(room)
    made.looked(10.0, 0)
    made.looked(11.0, int(rate))
    return made.pause_s


def test_at_a_low_rate_a_pause_is_as_long_as_a_burst_may_take_to_fill_the_room() -> None:
    assert Gathering(960).pause_s == pytest.approx(0.015)
    assert pause_at(0, 960) == pause_at(2_000, 960) == pytest.approx(0.015)
    assert pause_at(10, 1_000_000) == LONGEST_S


@pytest.mark.parametrize("rate", [10_000, 30_000, 100_000])
def test_at_a_rate_an_eighth_of_the_room_is_filled_in_a_pause(rate: int) -> None:
    assert pause_at(rate, 960) * rate == pytest.approx(120)


def test_a_pause_never_ends_before_it_began() -> None:
    assert pause_at(10**9, 1) == SHORTEST_S
    made = Gathering(960)
    made.looked(5.0, 100)
    made.looked(5.0, 100)
    assert made.pause_s >= SHORTEST_S
