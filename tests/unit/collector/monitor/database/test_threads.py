from __future__ import annotations

import pytest

from collector.monitor.database import threads

pytestmark = pytest.mark.either_build


def test_threads_are_summed_by_command_and_state_as_words() -> None:
    rows: list[dict[str, object]] = [
        {"command": "Query", "state": "Waiting for table metadata lock", "threads": 2, "seconds": 30},
        {"command": "Sleep", "state": "", "threads": 5, "seconds": None},
        {"command": "Sleep", "state": None, "threads": 1, "seconds": 4},
    ]
    assert {(reading.name[30:], *reading.labels): reading.value for reading in threads.of_threads(rows)} == {
        ("threads", "query", "waiting_for_table_metadata_lock"): 2,
        ("seconds", "query", "waiting_for_table_metadata_lock"): 30,
        ("threads", "sleep", "unknown"): 6,
        ("seconds", "sleep", "unknown"): 4,
    }


def test_who_waits_for_a_waiter_waits_for_the_one_at_the_root() -> None:
    waits = {2: {1}, 3: {2}, 4: {2}, 5: {9}}
    assert threads.blockers(waits) == {1: 3, 9: 1}
    assert threads.depth(waits) == 2


def test_in_a_ring_nobody_is_at_the_root_and_there_is_an_end() -> None:
    assert threads.blockers({1: {2}, 2: {1}}) == {}
    assert threads.depth({1: {2}, 2: {1}}) == 0


def test_of_many_blockers_the_worst_are_told() -> None:
    rows = [{"waiter": 1000 + number, "blocker": number % 50, "seconds": number} for number in range(400)]
    found = list(threads.of_lock_waits(rows))
    assert {reading.name: reading.value for reading in found[:3]} == {
        "querytap_mysql_lock_waiters": 400, "querytap_mysql_lock_wait_seconds": 399, "querytap_mysql_lock_depth": 1,
    }  # fmt: skip
    assert [reading.value for reading in found[3:]] == [8] * threads.MOST_BLOCKERS
    assert [reading.value for reading in threads.of_lock_waits([])] == [0, 0, 0]
