"""What a ledger says of the budget, and what of it is printed."""

from __future__ import annotations

from typing import Any

import pytest

from collector.reading.shedding import budget_lines, shed, shed_seconds

SECOND = 1_000_000_000


def ledger(**changes: Any) -> dict[str, Any]:  # noqa: ANN401
    found = {
        "cap_percent": 10.0,
        "own_percent": 4.5,
        "kernel_percent": 2.5,
        "level": "1/4",
        "spans": [{"level": "1/4", "from_ns": 5 * SECOND, "to_ns": 9 * SECOND, "why": "30.0 % of a core in 1.0 s"}],
        "coverage": {"share": 0.31, "of": "segments", "error": 0.05},
    }
    return {"budget": {**found, **changes}}


def test_the_lines_say_when_what_was_given_up_and_which_share_is_left() -> None:
    first, second = budget_lines(ledger())
    assert "captured 31.00 % of what came, by segments, give or take 5 % of that" in first
    assert second.endswith(
        "level 1/4 from 1970-01-01T00:00:05.000000000Z to 1970-01-01T00:00:09.000000000Z: 30.0 % of a core in 1.0 s"
    )
    assert shed_seconds(ledger()) == 4.0
    assert shed(ledger()) == (
        "level 1/4 to keep to the budget; captured 31.00 % of what came, by segments, give or take 5 % of that",
    )


def test_cheaper_compression_costs_nobody_a_statement() -> None:
    span = {"level": "compression", "from_ns": 0, "to_ns": SECOND, "why": ""}
    whole = {"share": 1.0, "of": "whole", "error": 0.0}
    assert shed(ledger(level="compression", spans=[span], coverage=whole)) == ()
    assert shed_seconds(ledger(spans=[span])) == 0.0


@pytest.mark.parametrize(
    "budget",
    [
        None,
        5,
        [],
        {"spans": 7, "coverage": []},
        {"spans": [None, {"from_ns": -1, "to_ns": 1 << 70}, {"from_ns": True, "to_ns": 2}], "level": "full"},
        {"coverage": {"share": "x", "of": "nominal"}},
    ],
)
def test_what_is_no_account_is_passed_over(budget: object) -> None:
    found = {"budget": budget}
    assert shed(found) == ()
    assert shed_seconds(found) == 0.0
    assert all("level" not in line for line in budget_lines(found))


def test_what_strangers_could_have_written_is_printed_safely() -> None:
    assert all("\x1b" not in line for line in budget_lines(ledger(own_percent="\x1b[31m", level="\x1b[2J")))
