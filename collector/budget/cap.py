"""What the configuration allows, as one figure. Pure."""

from __future__ import annotations

from collector.config.schema import BudgetOptions


def cap_percent(options: BudgetOptions, processors: int) -> float:
    """Most CPU time that querytap may take on a host with so many processors; 100 is one core."""
    if options.cpu_percent_of_host > 0:
        return round(options.cpu_percent_of_host * processors, 3)
    return options.cpu_percent
