from __future__ import annotations

from collector.aggregator.ending import SILENCE_NS, Ending

SECOND = 1_000_000_000


def test_nothing_ends_before_capture_has() -> None:
    ending = Ending(30 * SECOND)
    assert not ending.over(10**18, complete=True)
    assert ending.deadline_ns() is None


def test_it_is_over_at_once_when_all_is_here() -> None:
    ending = Ending(30 * SECOND)
    ending.begin(5)
    assert ending.over(5, complete=True)
    assert not ending.over(5, complete=False)


def test_it_is_over_when_workers_stay_silent() -> None:
    ending = Ending(30 * SECOND)
    ending.begin(0)
    ending.heard(2 * SECOND)
    assert not ending.over(SILENCE_NS, complete=False)
    assert ending.over(2 * SECOND + SILENCE_NS, complete=False)


def test_talk_does_not_go_on_past_the_timeout() -> None:
    ending = Ending(30 * SECOND)
    ending.begin(0)
    ending.heard(30 * SECOND)
    assert ending.over(30 * SECOND, complete=False)
    assert ending.expired(30 * SECOND)
    assert not ending.expired(29 * SECOND)


def test_a_second_beginning_changes_nothing() -> None:
    ending = Ending(30 * SECOND)
    ending.begin(0)
    ending.begin(20 * SECOND)
    assert ending.expired(30 * SECOND)


def test_in_a_hurry_nothing_is_waited_for() -> None:
    ending = Ending(30 * SECOND)
    ending.hurry()
    assert ending.begun
    assert ending.over(0, complete=False)
    assert ending.expired(0)


def test_another_timeout_holds_from_when_it_is_told() -> None:
    ending = Ending(30 * SECOND)
    ending.begin(0)
    ending.bound(10 * SECOND)
    assert ending.expired(10 * SECOND)
