"""From when to when which level was in force: what the ledger tells of what was given up. Pure: times are arguments."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Final

from collector.budget.levels import FULL

MOST: Final = 64
"""Spans that one batch tells of; of more, the oldest become one."""


@dataclass(slots=True)
class Span:
    """A level below the first, in force for a while; times in ns since 1970."""

    level: str
    why: str
    from_ns: int
    to_ns: int
    levels: int = 1
    """How many different ones it stands for, where there were too many to tell each."""

    def as_map(self) -> dict[str, Any]:
        """Plain values."""
        told = {"level": self.level, "why": self.why, "from_ns": self.from_ns, "to_ns": self.to_ns}
        return told if self.levels == 1 else {**told, "levels": self.levels}


class Spans:
    """Those since they were last taken.

    Promise: every moment at which the level was not the first is in one of them, and no more than MOST are kept.
    """

    def __init__(self) -> None:
        self._past: deque[Span] = deque()
        self._open: Span | None = None

    def note(self, level: str, why: str, now_ns: int) -> None:
        """The level is that from *now_ns* on."""
        self._end(now_ns)
        self._open = Span(level, why, now_ns, now_ns) if level != FULL else None

    def take(self, now_ns: int) -> list[dict[str, Any]]:
        """What there was, up to *now_ns*; what goes on begins there for the next time."""
        goes_on = self._open
        self._end(now_ns)
        found = [span.as_map() for span in self._past]
        self._past.clear()
        if goes_on is not None:
            self._open = Span(goes_on.level, goes_on.why, goes_on.to_ns, goes_on.to_ns)
        return found

    def _end(self, now_ns: int) -> None:
        if self._open is None:
            return
        self._open.to_ns = max(now_ns, self._open.from_ns)  # the clock may have been set back
        self._past.append(self._open)
        self._open = None
        if len(self._past) > MOST:
            first, second = self._past.popleft(), self._past.popleft()
            first.to_ns, first.levels = second.to_ns, first.levels + second.levels
            self._past.appendleft(first)
