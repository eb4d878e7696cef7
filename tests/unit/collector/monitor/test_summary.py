from __future__ import annotations

import pytest

from collector.monitor.database import families as database
from collector.monitor.families import Family, Reading
from collector.monitor.reference import declared
from collector.monitor.summary import FIGURES, RATIOS, Summary
from collector.monitor.system import families as host

pytestmark = pytest.mark.either_build

QUESTIONS = database.STATUS


def readings(at: float, *, cpu: float, reads: float, read_s: float, questions: float) -> list[Reading]:
    return [
        Reading(host.TIME, at),
        Reading(host.CPU, cpu, ("0", "user")),
        Reading(host.CPU, cpu, ("1", "user")),
        Reading(host.CPU, 1000 + at, ("0", "idle")),
        Reading(host.READS, reads, ("sda",)),
        Reading(host.READ_TIME, read_s, ("sda",)),
        Reading(database.POLL_TIME, at, ("db:1",)),
        Reading(database.UP, 1, ("db:1",)),
        Reading(QUESTIONS, questions, ("db:1",), "questions"),
        Reading(database.TRANSACTIONS, 3, ("db:1",)),
    ]


def test_levels_are_there_at_once_and_rates_from_the_second_time_on() -> None:
    summary = Summary()
    first = summary.take(readings(100, cpu=10, reads=50, read_s=1, questions=1000))
    assert first == {"host": {}, "server_1": {"address": "db:1", "up": 1, "transactions": 3}}
    second = summary.take(readings(110, cpu=11, reads=70, read_s=1.1, questions=1500))
    assert second["host"] == {"cpu_user_percent": 20, "disk_reads_per_s": 2, "disk_read_ms": 5}
    assert second["server_1"] == {"address": "db:1", "up": 1, "questions_per_s": 50, "transactions": 3}


def test_what_was_not_read_again_is_told_again_and_a_counter_that_began_anew_is_no_rate_below_zero() -> None:
    summary = Summary()
    summary.take(readings(100, cpu=10, reads=50, read_s=1, questions=1000))
    second = summary.take(readings(110, cpu=11, reads=70, read_s=1.1, questions=1500))
    assert summary.take(readings(110, cpu=11, reads=70, read_s=1.1, questions=1500)) == second
    third = summary.take(readings(120, cpu=0, reads=0, read_s=0, questions=5))
    assert third["host"] == {"cpu_user_percent": 0, "disk_reads_per_s": 0}
    assert third["server_1"]["questions_per_s"] == 0


def test_a_server_that_is_gone_is_told_no_more() -> None:
    summary = Summary()
    summary.take(readings(100, cpu=10, reads=50, read_s=1, questions=1000))
    assert summary.take([Reading(host.TIME, 105.0)]) == {"host": {}}


def test_each_figure_is_of_a_metric_that_is_declared() -> None:
    names: dict[str, Family] = declared()
    wanted = [figure.metric for figure in FIGURES] + [name for ratio in RATIOS for name in (ratio.metric, ratio.by)]
    patterns = [name.removesuffix("*") for name in names if name.endswith("*")]
    assert [name for name in wanted if name not in names and not name.startswith(tuple(patterns))] == []
