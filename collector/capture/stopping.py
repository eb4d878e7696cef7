"""The order in which capture stops, decided from times and counts alone; the main loop carries it out."""

from __future__ import annotations

import enum
from typing import Final

HURRIED_S: Final = 2.0
"""What a stop that is to hurry leaves the workers."""


class Step(enum.Enum):
    """What is to be done next."""

    SHUT = enum.auto()
    """Let no packet pass any more."""
    DRAIN = enum.auto()
    """The kernel has handed over every block: tell the workers to empty their rings and end."""
    LEAVE = enum.auto()
    """Half of the time is over: tell those that are left to end with what they have taken."""
    KILL = enum.auto()
    """Time is up for the workers that are left."""
    FINISH = enum.auto()
    """No worker is left: send the final statistics and exit."""


class StopPlan:
    """Packets are shut out first, so that what has been captured by then has an end; nothing of it is lost.

    Each step is given out once. Times are of one monotonic clock, in seconds.
    """

    def __init__(self, block_timeout_s: float, bound_s: float) -> None:
        self._settle_s = 2 * block_timeout_s + 0.05  # after one timeout the kernel hands over a block begun before
        self._bound_s = bound_s
        self._shut_at: float | None = None
        self._kill_at = 0.0
        self._given: set[Step] = set()

    def bound(self, bound_s: float) -> None:
        """Let a stop that is not asked for yet take so long at most."""
        self._bound_s = bound_s

    @property
    def requested(self) -> bool:
        """Whether a stop was asked for."""
        return self._shut_at is not None

    @property
    def draining(self) -> bool:
        """Whether workers have been told to end."""
        return Step.DRAIN in self._given

    def request(self, now: float) -> None:
        """Begin to stop; asked again, hurry."""
        if self._shut_at is None:
            self._shut_at = now
            self._kill_at = now + self._bound_s
        else:
            self._kill_at = min(self._kill_at, now + HURRIED_S)

    def next(self, now: float, workers: int) -> Step | None:
        """The step that is due while *workers* are alive, None when there is none yet."""
        if self._shut_at is None:
            return None
        if Step.SHUT not in self._given:
            return self._give(Step.SHUT)
        if not self.draining:
            return self._give(Step.DRAIN) if now >= self._shut_at + self._settle_s else None
        if workers == 0:
            return self._give(Step.FINISH)
        if now >= self._kill_at:
            return self._give(Step.KILL)
        return self._give(Step.LEAVE) if now >= self._leave_at() else None

    def due(self) -> float | None:
        """When next() is to be asked again at the latest, None when only an event can bring the next step."""
        if self._shut_at is None:
            return None
        if not self.draining:
            return self._shut_at + self._settle_s
        if Step.KILL in self._given:
            return None
        return self._kill_at if Step.LEAVE in self._given else self._leave_at()

    def _leave_at(self) -> float:
        assert self._shut_at is not None  # asked after a stop was
        return (self._shut_at + self._settle_s + self._kill_at) / 2

    def _give(self, step: Step) -> Step | None:
        if step in self._given:
            return None
        self._given.add(step)
        return step
