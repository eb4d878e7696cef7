"""Decides when the next upload may begin. Pure: times and chance are arguments."""

from __future__ import annotations

from typing import Final

FIRST_WAIT_NS: Final = 1_000_000_000
LONGEST_WAIT_NS: Final = 60_000_000_000
_NS: Final = 1_000_000_000


class Gate:
    """Lets so many uploads go at once and so many bytes a second; after a failure one alone, later each time.

    The waits double from FIRST_WAIT_NS to LONGEST_WAIT_NS, each shortened by chance by up to a half, so that a thousand
    hosts do not come back to a store in one moment.
    """

    def __init__(self, lanes: int, bytes_per_s: int) -> None:
        self._lanes = lanes
        self._bytes_per_s = bytes_per_s
        """0: as many as there are."""
        self._paced_ns = 0
        self._again_ns = 0
        self._failed_ns = 0
        self._failures = 0

    def adapt(self, lanes: int, bytes_per_s: int) -> None:
        """Go by others from the next upload on."""
        self._lanes = lanes
        self._bytes_per_s = bytes_per_s

    def opens_ns(self, away: int) -> int | None:
        """From when on the next may begin while *away* are on their way; None: not before one is back."""
        if away >= (1 if self._failures else self._lanes):
            return None
        return max(self._paced_ns, self._again_ns)

    def began(self, now_ns: int, size: int) -> None:
        """An upload of *size* bytes has begun."""
        if self._bytes_per_s:
            self._paced_ns = now_ns + size * _NS // self._bytes_per_s

    def failed(self, began_ns: int, now_ns: int, chance: float) -> None:
        """The store did not take one that began at *began_ns*; *chance* is from 0 to 1."""
        if self._failures and began_ns <= self._failed_ns:
            return  # it was away already when another failed: the same trouble
        self._failures += 1
        self._failed_ns = now_ns
        longest = min(LONGEST_WAIT_NS, FIRST_WAIT_NS << min(self._failures - 1, 16))
        self._again_ns = now_ns + int(longest * (1 - chance / 2))

    def went(self) -> None:
        """The store has taken one."""
        self._failures = 0
        self._again_ns = 0
