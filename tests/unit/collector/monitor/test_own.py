from __future__ import annotations

import pytest

from collector.monitor import own
from tests.unit.collector.cli.test_status import a_status

pytestmark = pytest.mark.either_build


def test_the_ledger_is_told_by_worker_and_by_what_became_of_it() -> None:
    found = {(reading.name, *reading.labels): reading.value for reading in own.of_status(a_status(), 12.5)}
    assert found["querytap_status_time_seconds",] == 12.5
    assert found["querytap_recording",] == 1
    assert found["querytap_packets_passed_total", "0"] == 12
    assert found["querytap_packets_taken_total", "0", "used"] == 9
    assert found["querytap_packets_dropped_total", "0"] == 1
    assert found["querytap_statements_total", "0", "decoded"] == 5
    assert found["querytap_statements_held", "0"] == 2
    assert found["querytap_objects_total", "stored"] == 7
    assert found["querytap_budget_cpu_percent",] == 10


def test_what_querytap_costs_is_told() -> None:
    sample = {"tree": {"cpu_percent": 1.5, "rss_bytes": 1000, "processes": 3}}
    found = {reading.name: reading.value for reading in own.of_sample(sample)}
    assert found == {
        "querytap_cpu_percent": 1.5, "querytap_resident_memory_bytes": 1000, "querytap_processes": 3,
    }  # fmt: skip
