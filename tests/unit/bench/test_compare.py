"""Two results are told apart only where their spreads do not touch."""

from __future__ import annotations

from typing import Any

import pytest

from bench.compare import Figure, differing_machine, figures, verdict


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (Figure(1.2, 1.1, 1.3), "slower"),
        (Figure(1.2, 1.0, 1.3), "same"),  # its least is within the spread of before
        (Figure(1.04, 1.04, 1.04), "same"),  # outside the spread, but less than matters
        (Figure(0.8, 0.7, 0.9), "faster"),
        (Figure(0.8, 0.7, 1.0), "same"),
    ],
)
def test_a_change_counts_when_the_spreads_do_not_touch_and_it_matters(after: Figure, expected: str) -> None:
    assert verdict(Figure(1.0, 0.98, 1.02), after) == expected


def test_each_rate_and_setting_of_a_pipeline_result_is_a_figure() -> None:
    spread = {"median": 2.0, "least": 1.9, "most": 2.2}
    result = {"kind": "pipeline", "results": [{"responses": "none", "rate": 8000, "querytap": spread}]}
    assert figures(result) == {"none at 8000/s, us": Figure(2.0, 1.9, 2.2)}


def test_a_micro_result_without_callgrind_has_nanoseconds_only() -> None:
    one: dict[str, Any] = {"responses": "first", "cpu_ns": 5.0, "cpu_ns_least": 4.0, "cpu_ns_most": 6.0}
    assert figures({"kind": "micro", "results": [one]}) == {"hot path, first, ns": Figure(5.0, 4.0, 6.0)}
    assert "hot path, first, instructions" in figures({"kind": "micro", "results": [one | {"instructions": 7.0}]})


def test_results_of_different_machines_are_not_compared() -> None:
    machine = {"cpu": "A", "cores": 2, "kernel": "6.1", "python": "3.11"}
    assert differing_machine({"machine": machine}, {"machine": machine}) == []
    assert differing_machine({"machine": machine}, {"machine": machine | {"kernel": "6.2"}}) == ["kernel: 6.1 / 6.2"]
