"""What the configuration allows."""

from __future__ import annotations

from collector.budget.cap import cap_percent
from collector.config.schema import BudgetOptions


def test_the_cap_is_that_of_one_core_unless_a_share_of_the_host_is_set() -> None:
    assert cap_percent(BudgetOptions(), 64) == 10.0
    assert cap_percent(BudgetOptions(cpu_percent=2.5), 64) == 2.5
    assert cap_percent(BudgetOptions(cpu_percent=2.5, cpu_percent_of_host=0.5), 64) == 32.0
