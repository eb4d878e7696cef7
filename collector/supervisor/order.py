"""The order in which the processes stop, decided from times and who is alive; lifecycle.py sends the signals."""

from __future__ import annotations

import signal
from collections.abc import Collection
from typing import Final, NamedTuple

AGGREGATOR: Final = "aggregator"
CAPTURE: Final = "capture"
MONITOR: Final = "monitor"

HURRIED_S: Final = 5.0
"""What is left of the bound when a stop is asked for a second time."""
_CAPTURE_SHARE: Final = 0.75  # of the bound; it gives its workers less
_AGGREGATOR_SHARE: Final = 0.9


class Order(NamedTuple):
    """Send *signal_number* to the process *name*."""

    name: str
    signal_number: signal.Signals


class StopOrder:
    """Who is told to stop when.

    The monitor and capture at once: capture shuts packets out, has the workers empty their rings and ends after them.
    The aggregator is told nothing: it ends by itself once all of that has reached it, and is reminded only when the
    bound comes near. Nobody outlives the bound. Each order is given once; times are of one monotonic clock, in seconds.
    """

    def __init__(self, bound_s: float) -> None:
        self._bound_s = bound_s
        self._began: float | None = None
        self._hurried = False
        self._given: set[Order] = set()

    def bound(self, bound_s: float) -> None:
        """Let a stop that is not asked for yet take so long at most."""
        if self._began is None:
            self._bound_s = bound_s

    @property
    def requested(self) -> bool:
        """Whether a stop was asked for."""
        return self._began is not None

    def request(self, now: float) -> None:
        """Begin; asked again, hurry."""
        if self._began is None:
            self._began = now
        elif not self._hurried:
            self._hurried = True
            self._bound_s = min(self._bound_s, now - self._began + HURRIED_S)
            # So that capture and aggregator hear it again.
            self._given = {order for order in self._given if order.signal_number == signal.SIGKILL}

    def next(self, now: float, alive: Collection[str]) -> list[Order]:
        """The orders that are due now, for those of the processes that are *alive*."""
        due = [
            order
            for at, order in self._schedule(now, alive)
            if at <= now and order.name in alive and order not in self._given
        ]
        self._given.update(due)
        return due

    def due(self, now: float, alive: Collection[str]) -> float | None:
        """When next() has something to say, unless somebody ends before; None when nothing is left to be said."""
        times = [at for at, order in self._schedule(now, alive) if order.name in alive and order not in self._given]
        return min(times, default=None)

    def _schedule(self, now: float, alive: Collection[str]) -> list[tuple[float, Order]]:
        if self._began is None:
            return []
        end = self._began + self._bound_s
        # Without capture nothing more reaches the aggregator, but its last batch takes its time.
        remind = now if self._hurried and CAPTURE not in alive else self._began + self._bound_s * _AGGREGATOR_SHARE
        return [
            (self._began, Order(MONITOR, signal.SIGTERM)),
            (self._began, Order(CAPTURE, signal.SIGTERM)),
            (self._began + self._bound_s * _CAPTURE_SHARE, Order(CAPTURE, signal.SIGKILL)),
            (remind, Order(AGGREGATOR, signal.SIGTERM)),
            *((end, Order(name, signal.SIGKILL)) for name in (MONITOR, AGGREGATOR)),
        ]
