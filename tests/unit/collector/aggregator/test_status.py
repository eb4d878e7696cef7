from __future__ import annotations

import json
from pathlib import Path

from collector.aggregator.ledger import Ledger
from collector.aggregator.resuming import Objects
from collector.aggregator.status import Rates, build_status, figures, write_status
from collector.channel import Statistics, first_incarnation

SECOND = 1_000_000_000


def ledger(statements: int, packets: int) -> Ledger:
    made = Ledger(1)
    made.take_statistics(
        Statistics(worker=0, incarnation=0, kernel_passed=packets, page_packets=packets, page_statements=statements)
    )
    return made


def test_rates_are_taken_over_the_last_ten_seconds() -> None:
    rates = Rates()
    assert rates.sample(0, ledger(0, 0).view()) == {"statements_per_s": 0.0, "packets_per_s": 0.0}
    for second in range(1, 31):
        found = rates.sample(second * SECOND, ledger(100 * max(0, second - 20), 50 * second).view())
    assert found == {"statements_per_s": 100.0, "packets_per_s": 50.0}


def test_the_status_is_one_json_object_that_others_may_read(tmp_path: Path) -> None:
    status = build_status(
        time="2026-01-01T00:00:00+00:00",
        began="2025-12-31T00:00:00+00:00",
        moments={"dropped": {"first": "a", "last": "b", "grown": 3}},
        identity={"instance": "ab", "host": "db1", "pid": 5},
        ledger=ledger(3, 9).view(),
        rates={"statements_per_s": 1.0},
        batches={"stored": 2},
        store={"place": "/srv"},
        budget={"cpu_percent": 10.0},
        host={},
        warnings=["key"],
        state="running",
    )
    write_status(tmp_path, status)
    read = json.loads((tmp_path / "status.json").read_text())
    assert read["state"] == "running"
    assert read["balanced"] is True
    assert read["moments"]["dropped"]["grown"] == 3
    assert read["ledger"]["0"]["statements"]["decoded"] == 3
    assert read["ledger"]["0"]["packets"]["passed"] == 9
    assert (tmp_path / "status.json").stat().st_mode & 0o777 == 0o644


def test_a_worker_that_was_told_to_end_has_not_crashed() -> None:
    kept = ledger(3, 9)
    for incarnation, crashes in ((1, 0), (2, 1), (3, 1), (first_incarnation(1), 0), (first_incarnation(1) + 1, 1)):
        kept.take_statistics(Statistics(worker=0, incarnation=incarnation, crashes=crashes))
    assert figures(kept.view(), Objects(stored=0, discarded=0, evicted=0))["crashes"] == 2


def test_the_figures_that_should_stay_are_those_of_all_workers_and_of_the_objects() -> None:
    found = figures(ledger(3, 9).view(), Objects(stored=5, discarded=2, evicted=1))
    assert found == {"dropped": 0, "lost": 0, "crashes": 0, "discarded": 2, "evicted": 1}
