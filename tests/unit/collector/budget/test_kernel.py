"""The estimate of what the kernel spends."""

from __future__ import annotations

import pytest

from collector.budget.kernel import Costs, Packets, percent


def test_packets_that_pass_cost_more_than_those_that_do_not() -> None:
    costs = Costs(passed_ns=1000.0, other_ns=200.0)
    # 50,000 passed and 50,000 others in 2 s: 50 ms and 10 ms.
    assert percent(Packets(0, 0), Packets(50_000, 100_000), 2.0, costs) == pytest.approx(3.0)


def test_where_interfaces_are_not_counted_the_packets_that_passed_are() -> None:
    assert percent(Packets(0, 0), Packets(50_000, 0), 1.0, Costs(1000.0, 200.0)) == pytest.approx(5.0)


def test_counters_that_begin_anew_cost_nothing() -> None:
    assert percent(Packets(9, 9), Packets(0, 0), 1.0, Costs()) == 0.0
    assert percent(Packets(0, 0), Packets(9, 9), 0.0, Costs()) == 0.0
