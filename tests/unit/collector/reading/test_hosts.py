from __future__ import annotations

from typing import Any

import pytest

from collector.reading.hosts import BLIND, OK, QUIET, SHEDDING, SILENT, STATES, STOPPED, Condition, condition
from tests.unit.collector.aggregator.making import SECOND, header

MINUTE = 60 * SECOND


def ledger(*, final: bool = False, decoded: int = 0, statements_lost: int = 0, **packets: Any) -> dict[str, Any]:  # noqa: ANN401
    taken = {name: packets.pop(name, 0) for name in ("used", "encrypted", "desync")}
    statements = {"decoded": decoded, "lost": statements_lost}
    return {"final": final, "workers": {"0": {"packets": {"taken": taken, **packets}, "statements": statements}}}


def state(
    now: dict[str, Any], before: dict[str, Any] | None = None, age_ns: int = MINUTE, run: str = "77"
) -> Condition:
    first = None if before is None else header(ledger=before, run=run)
    second = header(ledger=now, sequence=2, sealed_ns=header().sealed_ns + MINUTE)
    return condition(second, first, second.sealed_ns + age_ns, 3 * MINUTE)


@pytest.mark.parametrize(
    ("now", "before", "age_ns", "expected", "reason"),
    [
        (ledger(decoded=9, used=9), ledger(decoded=5, used=5, dropped=0), MINUTE, OK, ""),
        (ledger(decoded=5, used=9), ledger(decoded=5, used=5), MINUTE, QUIET, ""),
        (ledger(final=True), ledger(), 100 * MINUTE, STOPPED, ""),
        (ledger(decoded=9), ledger(), 4 * MINUTE, SILENT, ""),
        (ledger(decoded=9), ledger(), 3 * MINUTE, OK, ""),
        ({"workers": {}}, ledger(), MINUTE, BLIND, "no worker captures"),
        (ledger(decoded=5, encrypted=90), ledger(decoded=5, encrypted=20), MINUTE, BLIND, "70 packets, none of them"),
        (ledger(decoded=6, encrypted=90), ledger(decoded=5, encrypted=20), MINUTE, OK, ""),
        (ledger(decoded=9, dropped=7), ledger(dropped=2), MINUTE, SHEDDING, "5 packets dropped by the kernel"),
        (ledger(decoded=9, dropped=7), ledger(dropped=7), MINUTE, OK, ""),
        (ledger(decoded=9, statements_lost=1), ledger(), MINUTE, SHEDDING, "1 statements lost"),
        (ledger(decoded=9, dropped=7), None, MINUTE, SHEDDING, "7 packets dropped"),
        ({}, None, MINUTE, BLIND, "no worker"),
        ({"workers": {"0": {"packets": 5, "statements": []}}}, None, MINUTE, QUIET, ""),
    ],
)
def test_two_headers_tell_how_an_instance_is(
    now: dict[str, Any], before: dict[str, Any] | None, age_ns: int, expected: str, reason: str
) -> None:
    found = state(now, before, age_ns)
    assert found.state == expected
    assert expected in STATES
    assert reason in ", ".join(found.reasons)
    assert bool(reason) == bool(found.reasons)


def test_what_is_given_up_for_the_budget_is_a_reason() -> None:
    found = state({**ledger(decoded=9), "budget": {"level": "1/4", "spans": [], "coverage": {}}}, ledger())
    assert (found.state, found.reasons) == (SHEDDING, ("level 1/4 to keep to the budget",))


def test_counts_of_another_run_are_not_taken_off() -> None:
    found = state(ledger(decoded=9, dropped=7), ledger(decoded=99, dropped=99), run="other")
    assert (found.state, found.statements, found.seconds) == (SHEDDING, 9, 0.0)


def test_between_two_objects_it_is_known_how_much_was_recorded() -> None:
    found = state(ledger(decoded=90), ledger(decoded=30))
    assert (found.statements, found.seconds) == (60, 60.0)


def test_a_clock_that_is_behind_makes_nobody_older_than_now() -> None:
    assert state(ledger(decoded=1), ledger(), -MINUTE).age_ns == 0
