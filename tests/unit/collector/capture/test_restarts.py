from __future__ import annotations

from collector.capture.restarts import LONGEST_DELAY_S, QUICK_S, Restarts, worker_restart


def test_delays_double_while_a_process_fails_quickly_and_are_bounded() -> None:
    restarts = Restarts()
    delays = [restarts.delay_after(0.0) for _ in range(12)]
    assert delays[:4] == [0.25, 0.5, 1.0, 2.0]
    assert delays[-1] == LONGEST_DELAY_S
    assert restarts.quick == restarts.total == 12


def test_the_longest_delay_can_be_chosen() -> None:
    restarts = Restarts(longest_delay_s=0.4)
    assert [restarts.delay_after(0.0) for _ in range(3)] == [0.25, 0.4, 0.4]


def test_a_process_that_lived_is_started_again_at_once_and_the_count_begins_anew() -> None:
    restarts = Restarts()
    restarts.delay_after(0.0)
    restarts.delay_after(0.0)
    assert restarts.delay_after(QUICK_S) == 0.0
    assert restarts.quick == 0
    assert restarts.total == 3
    assert restarts.delay_after(0.0) == 0.25


def test_an_end_without_fault_is_counted_and_nothing_more() -> None:
    restarts = Restarts()
    restarts.delay_after(0.0)
    assert restarts.without_fault() == 0.0
    assert (restarts.total, restarts.quick) == (2, 1)


def test_a_worker_starts_no_sooner_than_its_ring_can_be_told_whatever_the_hurry() -> None:
    restarts = Restarts(longest_delay_s=2.0)
    first = worker_restart(restarts, QUICK_S, 1.0, killed=False)
    assert first == (1.2, 1.2, False)
    delays = [worker_restart(restarts, 0.0, 0.1, killed=False) for _ in range(6)]
    assert [one.delay_s for one in delays] == [0.25, 0.5, 1.0, 2.0, 2.0, 2.0]
    assert {round(one.soonest_s, 6) for one in delays} == {0.12}


def test_who_fails_quickly_again_and_again_by_itself_begins_without_what_is_known() -> None:
    restarts = Restarts()
    assert [worker_restart(restarts, 0.0, 0.1, killed=False).afresh for _ in range(4)] == [False, False, True, True]
    assert not worker_restart(restarts, 0.0, 0.1, killed=True).afresh
    assert not worker_restart(restarts, QUICK_S, 0.1, killed=False).afresh
