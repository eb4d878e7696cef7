"""A run that should not be believed says so, and a summary keeps the spread."""

from __future__ import annotations

from typing import Any

import pytest

from bench.pipeline.run import doubts, summary


def figures(microseconds: float = 2.0) -> dict[str, Any]:
    """One run that nobody has to doubt."""
    tree = {
        "cpu_us_per_statement": microseconds,
        "cpu_percent": 1.6,
        "memory_mib": 80.0,
        "wake_ups_per_s": 12.0,
        "us_per_statement_by_role": {"worker": 1.0},
        "processes_changed": False,
    }
    return {
        "rate": 8000,
        "responses": "none",
        "method": "ring",
        "block_kib": 1024,
        "timeout_ms": 250,
        "window_s": 10.0,
        "window_statements": 80_000,
        "querytap": {**tree, "exit_status": 0},
        "tcpdump": {**tree, "cpu_us_per_statement": 0.4, "packets": 81_000},
        "sent": {"statements": 81_000},
        "found": 81_000,
        "missing": 0,
        "unexpected": 0,
        "packets_passed": 81_000,
        "packets_dropped": 0,
        "balanced": True,
        "others_cpu_percent": 2.0,
        "archive_bytes_per_statement": 30.0,
    }


def test_a_sound_run_leaves_no_doubt() -> None:
    assert doubts(figures()) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"found": 80_999}, "81000 statements sent, 80999 found"),
        ({"missing": 1, "unexpected": 1}, "81000 statements sent, 81000 found"),
        ({"packets_dropped": 3}, "3 packets dropped"),
        ({"packets_passed": 81_001}, "tcpdump's filter passed 81000 packets, ours 81001"),
        ({"balanced": False}, "the ledger is not balanced"),
        ({"window_statements": 70_000}, "only 88 % of the rate was reached"),
        ({"others_cpu_percent": 40.0}, "other programs took 40 % of a core"),
    ],
)
def test_each_reason_to_doubt_a_run_is_told(change: dict[str, Any], said: str) -> None:
    assert doubts(figures() | change) == [said]


def test_a_summary_has_the_median_and_the_extremes_of_the_repeats() -> None:
    result = summary([figures(2.0), figures(2.6), figures(2.1)])
    assert result["querytap"] == {"median": 2.1, "least": 2.0, "most": 2.6}
    assert result["tcpdump"]["median"] == 0.4
    assert (result["found"], result["sent"], result["repeats"]) == (243_000, 243_000, 3)
    assert (result["wake_ups_per_s"], result["way"]) == (12.0, "")


def test_a_summary_of_another_way_names_it() -> None:
    assert summary([figures() | {"method": "socket", "timeout_ms": 60}])["way"] == "socket, 1024 KiB, 60 ms"
