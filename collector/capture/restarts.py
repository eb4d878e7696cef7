"""When a process that ended is started again. No process and no clock: times are arguments, in seconds."""

from __future__ import annotations

from typing import Final, NamedTuple

QUICK_S: Final = 10.0
"""A process that lived shorter has failed quickly."""
FIRST_DELAY_S: Final = 0.25
LONGEST_DELAY_S: Final = 30.0
_AFRESH: Final = 3
"""Quick failures in a row."""


class Restarts:
    """Delays that double with each quick failure in a row and fall back to nothing once a process has lived."""

    def __init__(self, longest_delay_s: float = LONGEST_DELAY_S) -> None:
        self._longest_delay_s = longest_delay_s
        self.total = 0
        """How often the process ended."""
        self.quick = 0
        """How often in a row it ended quickly."""

    def delay_after(self, lived_s: float) -> float:
        """Count an end; how long to wait before the next start. After a long life that is nothing."""
        self.total += 1
        if lived_s >= QUICK_S:
            self.quick = 0
            return 0.0
        self.quick += 1
        return min(FIRST_DELAY_S * 2.0 ** (self.quick - 1), self._longest_delay_s)

    def without_fault(self) -> float:
        """Count an end that says nothing against the process; how long to wait before the next start."""
        self.total += 1
        return 0.0


class WorkerRestart(NamedTuple):
    """When the successor of a worker starts, after the end of the one before."""

    delay_s: float
    soonest_s: float
    """When there is a hurry: before this the ring's next block cannot be told."""
    afresh: bool
    """Without what the one before knew of connections: that may be what workers fail at."""


def worker_restart(restarts: Restarts, lived_s: float, block_timeout_s: float, *, killed: bool) -> WorkerRestart:
    """Count the end of a worker that lived so long, and say when the next one starts; *killed*: it was no fault of its.

    A ring that was full is opened again by the kernel's timer, which runs once a block timeout.
    """
    soonest_s = 1.2 * block_timeout_s
    delay_s = max(restarts.delay_after(lived_s), soonest_s)
    return WorkerRestart(delay_s, soonest_s, afresh=restarts.quick >= _AFRESH and not killed)
