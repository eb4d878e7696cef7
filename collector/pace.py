"""How often something is told again: often while it changes, seldom while it stands still."""

from __future__ import annotations

from typing import Final

_STEADY: Final = 3
"""So often it is told unchanged before it stands still: what comes of the last packets takes a moment."""
_RIPE: Final = 0.5
"""Of an interval: after that, what wakes the process anyway is taken as the occasion."""


class Pace:
    """When it is due next. Times and intervals are of one unit and clock, the caller's.

    Promise: what has changed is told within *often* of the moment at which stir() said so.
    """

    def __init__(self, often: float, seldom: float) -> None:
        self._often = often
        self._seldom = seldom
        self._told = -often
        self._unchanged = 0
        self.due = 0.0

    def told(self, now: float, *, changed: bool) -> None:
        """It was told; *changed* says whether it was other than before."""
        self._unchanged = 0 if changed else self._unchanged + 1
        self._told = now
        self.due = now + (self._seldom if self.still else self._often)

    def meet(self, now: float) -> None:
        """The process is awake for another reason: where much of the interval is over, it is due now."""
        if now - self._told >= (self.due - self._told) * _RIPE:
            self.due = now

    @property
    def still(self) -> bool:
        """Whether it has not changed for a while."""
        return self._unchanged > _STEADY

    def stir(self) -> None:
        """It may be about to change."""
        self._unchanged = 0
        self.due = min(self.due, self._told + self._often)
