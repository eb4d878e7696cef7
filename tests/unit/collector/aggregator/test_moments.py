from __future__ import annotations

from collector.aggregator.moments import Moments


def test_what_stays_as_it_was_when_it_was_first_told_has_no_moment() -> None:
    moments = Moments()
    moments.note("1", {"dropped": 7, "lost": 0})
    moments.note("2", {"dropped": 7, "lost": 0})
    assert moments.as_map() == {}


def test_growth_has_a_first_and_a_last_time_and_a_sum_that_a_new_beginning_does_not_shrink() -> None:
    moments = Moments()
    for time, dropped in (("1", 0), ("2", 5), ("3", 5), ("4", 6), ("5", 0), ("6", 2), ("7", 2)):
        moments.note(time, {"dropped": dropped, "lost": 0})
    assert moments.as_map() == {"dropped": {"first": "2", "last": "6", "grown": 8}}
