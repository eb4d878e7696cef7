"""Tells when the host's clock was set: from how far it is ahead of the monotonic one. Pure but for `read`."""

from __future__ import annotations

import time
from typing import Final, NamedTuple

TOLERANCE_NS: Final = 1_000_000
"""Less than this is no step: the reading itself took a moment."""

_CLOSE_NS: Final = 20_000
_TRIES: Final = 3


class Reading(NamedTuple):
    """Both clocks, read one after the other, in ns."""

    before_ns: int
    """CLOCK_MONOTONIC."""
    realtime_ns: int
    """CLOCK_REALTIME, by which the kernel stamps packets."""
    after_ns: int
    """CLOCK_MONOTONIC."""

    @property
    def ahead_ns(self) -> int:
        """How far realtime is ahead of monotonic, exact to half of `after_ns - before_ns`."""
        return self.realtime_ns - (self.before_ns + self.after_ns) // 2


def read() -> Reading:
    """Both clocks now; read again where something came in between."""
    for _ in range(_TRIES):
        found = Reading(time.monotonic_ns(), time.time_ns(), time.monotonic_ns())
        if found.after_ns - found.before_ns <= _CLOSE_NS:
            break
    return found


class Clock:
    """How far realtime is ahead, which only a step changes: both clocks are slewed alike, and run on alike.

    A suspended host counts as a step: its monotonic clock has stood still.
    """

    def __init__(self, reading: Reading) -> None:
        self.ahead_ns = reading.ahead_ns

    def stepped(self, reading: Reading) -> bool:
        """Whether the clock was set since the last time; `ahead_ns` is as it is now then."""
        doubt_ns = (reading.after_ns - reading.before_ns) // 2
        if abs(reading.ahead_ns - self.ahead_ns) <= TOLERANCE_NS + doubt_ns:
            return False
        self.ahead_ns = reading.ahead_ns
        return True
