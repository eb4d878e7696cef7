from __future__ import annotations

from signal import SIGKILL, SIGTERM

from collector.supervisor.order import AGGREGATOR, CAPTURE, MONITOR, Order, StopOrder

ALL = {MONITOR, CAPTURE, AGGREGATOR}


def test_nothing_is_sent_before_a_stop_is_asked_for() -> None:
    stop = StopOrder(30)
    assert stop.next(1e6, ALL) == []
    assert stop.due(1e6, ALL) is None


def test_monitor_and_capture_are_told_at_once_and_the_aggregator_is_left_to_end_by_itself() -> None:
    stop = StopOrder(30)
    stop.request(100)
    assert stop.next(100, ALL) == [Order(MONITOR, SIGTERM), Order(CAPTURE, SIGTERM)]
    assert stop.next(101, ALL) == []
    assert stop.next(110, {AGGREGATOR}) == []


def test_capture_is_killed_before_the_bound_and_the_aggregator_gets_the_rest() -> None:
    stop = StopOrder(40)
    stop.request(0)
    stop.next(0, ALL)
    assert stop.due(0, {CAPTURE, AGGREGATOR}) == 30
    assert stop.next(30, {CAPTURE, AGGREGATOR}) == [Order(CAPTURE, SIGKILL)]
    assert stop.next(36, {AGGREGATOR}) == [Order(AGGREGATOR, SIGTERM)]
    assert stop.next(39.9, {AGGREGATOR}) == []
    assert stop.next(40, {AGGREGATOR}) == [Order(AGGREGATOR, SIGKILL)]
    assert stop.due(40, {AGGREGATOR}) is None


def test_who_has_ended_is_sent_nothing() -> None:
    stop = StopOrder(30)
    stop.request(0)
    assert stop.next(0, {CAPTURE}) == [Order(CAPTURE, SIGTERM)]
    assert stop.next(1000, set()) == []


def test_a_monitor_that_hangs_is_killed_at_the_bound() -> None:
    stop = StopOrder(30)
    stop.request(0)
    stop.next(0, ALL)
    assert Order(MONITOR, SIGKILL) in stop.next(30, {MONITOR})


def test_asked_again_capture_hears_it_again_and_the_bound_shrinks() -> None:
    stop = StopOrder(300)
    stop.request(0)
    stop.next(0, ALL)
    stop.request(10)
    assert stop.next(10, {CAPTURE, AGGREGATOR}) == [Order(CAPTURE, SIGTERM)]
    assert stop.next(10.5, {AGGREGATOR}) == [Order(AGGREGATOR, SIGTERM)]
    assert stop.next(15, {AGGREGATOR}) == [Order(AGGREGATOR, SIGKILL)]


def test_asking_a_third_time_changes_nothing() -> None:
    stop = StopOrder(300)
    stop.request(0)
    stop.request(1)
    stop.next(1, ALL)
    stop.request(2)
    assert stop.next(2, {CAPTURE}) == []
    assert stop.due(2, {CAPTURE}) == 6 * 0.75


def test_another_bound_is_that_of_a_stop_that_is_asked_for_later() -> None:
    stop = StopOrder(300)
    stop.bound(40)
    stop.request(0)
    stop.bound(20)
    stop.next(0, ALL)
    assert stop.next(30, {CAPTURE}) == [Order(CAPTURE, SIGKILL)]
