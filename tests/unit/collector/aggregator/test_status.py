from __future__ import annotations

import json
from pathlib import Path

from collector.aggregator.ledger import Ledger
from collector.aggregator.status import Rates, build_status, write_status
from collector.channel import Statistics

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
    assert read["ledger"]["0"]["statements"]["decoded"] == 3
    assert read["ledger"]["0"]["packets"]["passed"] == 9
    assert (tmp_path / "status.json").stat().st_mode & 0o777 == 0o644
