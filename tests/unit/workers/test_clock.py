from __future__ import annotations

import time

import pytest

from workers import clock
from workers.clock import Clock, Reading

START = Reading(1_000, 5_000_000_000, 1_000)
SECOND = 1_000_000_000


def later(passed_ns: int, step_ns: int = 0, took_ns: int = 0) -> Reading:
    return Reading(
        START.before_ns + passed_ns,
        START.realtime_ns + passed_ns + took_ns // 2 + step_ns,
        START.after_ns + passed_ns + took_ns,
    )


@pytest.mark.parametrize("step_ns", [-3600 * SECOND, -SECOND // 2, -2_000_000, 2_000_000, SECOND, 3600 * SECOND])
def test_a_step_is_told_once_in_either_direction(step_ns: int) -> None:
    made = Clock(START)
    assert not made.stepped(later(SECOND))
    assert made.stepped(later(2 * SECOND, step_ns))
    assert made.ahead_ns == START.ahead_ns + step_ns
    assert not made.stepped(later(3 * SECOND, step_ns))
    assert made.stepped(later(4 * SECOND))  # back again


def test_that_time_passes_is_no_step_nor_that_reading_took_long() -> None:
    made = Clock(START)
    assert not made.stepped(later(10**18))
    assert not made.stepped(later(SECOND, took_ns=20 * SECOND))
    reading = later(SECOND, took_ns=20_000_000)
    assert not made.stepped(reading._replace(realtime_ns=reading.realtime_ns + 10_500_000))
    assert made.stepped(reading._replace(realtime_ns=reading.realtime_ns + 11_500_000))


def test_small_errors_do_not_add_up() -> None:
    made = Clock(START)
    for number in range(100):
        assert not made.stepped(later(number * SECOND, step_ns=900_000 if number % 2 else -900_000))
    assert made.ahead_ns == START.ahead_ns


def test_the_hosts_clocks_are_read_close_together() -> None:
    reading = clock.read()
    assert reading.before_ns <= reading.after_ns <= time.monotonic_ns()
    assert reading.realtime_ns <= time.time_ns()


def test_a_reading_that_was_interrupted_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monotonic = iter([0, 10**9, 2 * 10**9, 2 * 10**9 + 100])
    monkeypatch.setattr("workers.clock.time.monotonic_ns", lambda: next(monotonic))
    assert clock.read().before_ns == 2 * 10**9
