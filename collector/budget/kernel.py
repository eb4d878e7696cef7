"""What the kernel spends for us, which no process's figure shows: in softirq, and in the server's own send path. Pure.

Each packet of an interface that is listened on meets the sockets' filter; those that pass are copied. Both are reckoned
from counts of packets and a cost for each, which capture measures on this host when it starts.
"""

from __future__ import annotations

from dataclasses import dataclass

_PERCENT_A_NANOSECOND = 100 / 1e9


@dataclass(frozen=True, slots=True)
class Costs:
    """Nanoseconds of CPU time for one packet."""

    passed_ns: float = 900.0
    """One that passes the filter. Measured on 2 virtual cores (AMD EPYC, Linux 6.18): 570 to 1260."""
    other_ns: float = 350.0
    """One that does not; the same: 180 to 440."""
    calibrated: bool = False
    """Whether they were measured on this host."""


@dataclass(frozen=True, slots=True)
class Packets:
    """Counts since some start."""

    passed: int
    seen: int
    """All that met a filter."""


def percent(before: Packets, after: Packets, seconds: float, costs: Costs) -> float:
    """CPU use of the kernel between two counts, 100 being one core."""
    if seconds <= 0:
        return 0.0
    passed = max(after.passed - before.passed, 0)
    others = max(after.seen - before.seen - passed, 0)
    return (passed * costs.passed_ns + others * costs.other_ns) * _PERCENT_A_NANOSECOND / seconds
