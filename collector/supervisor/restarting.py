"""What is done when a process of the tree has ended, decided from its name, code and age alone."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from typing import Final, NamedTuple

from collector.capture.restarts import Restarts
from collector.child import EXIT_CANNOT_START, EXIT_CONFIG, EXIT_INTERFACE_GONE, manner
from collector.supervisor.order import AGGREGATOR, CAPTURE

MOST_QUICK_FAILURES: Final = 5
"""In a row, of what nothing is recorded without, before it is given up."""
LEAST_CAPTURE_DELAY_S: Final = 0.5
"""Before capture is started again: the workers that a dead one left empty their rings and end within it."""

_HARMLESS: Final = frozenset({0, -signal.SIGTERM})
_NO_FAULT: Final = frozenset({EXIT_INTERFACE_GONE, -signal.SIGTERM})
"""What was captured on is gone; or it was told to end before it captured anything."""


class Restart(NamedTuple):
    """It is to be started again after *delay_s*."""

    delay_s: float
    text: str


class GiveUp(NamedTuple):
    """Without it there is no use in going on."""

    reason: str


class Fault(NamedTuple):
    """It ended during a stop, but not as it should have."""

    text: str


class RestartPolicy:
    """Counts how the processes end, and decides what follows. Times are in seconds."""

    def __init__(self, names: Iterable[str]) -> None:
        self._restarts = {name: Restarts() for name in names}

    @property
    def totals(self) -> dict[str, int]:
        """How often each has ended while it was wanted."""
        return {name: restarts.total for name, restarts in self._restarts.items()}

    def after(
        self, name: str, code: int, lived_s: float, *, ready: bool, stopping: bool
    ) -> Restart | GiveUp | Fault | None:
        """What follows the end of *name* with *code* (negative: a signal); None: nothing.

        *ready* says whether all were at work once, *stopping* whether they have been told to end.
        """
        if stopping:
            return None if code in _HARMLESS else Fault(f"{name} {manner(code)}")
        if not ready and code in {EXIT_CONFIG, EXIT_CANNOT_START}:
            return GiveUp(f"{name} cannot start, see its message above")
        restarts = self._restarts[name]
        if code in _NO_FAULT:
            delay_s = restarts.without_fault()
        else:
            delay_s = restarts.delay_after(lived_s)
            if restarts.quick >= MOST_QUICK_FAILURES and (name == CAPTURE or (name == AGGREGATOR and not ready)):
                return GiveUp(f"{name} ended {restarts.quick} times in a row soon after its start, see above")
        if name == CAPTURE:
            delay_s = max(delay_s, LEAST_CAPTURE_DELAY_S)
        return Restart(delay_s, f"{name} {manner(code)} and is started again in {delay_s:.2f} s")
