"""Which share of all statements was captured, so that totals can be scaled up. An estimate, and named so. Pure.

Three kinds, the best that is to be had: the server's own count of statements (for which it has to be asked; there is no
account for that yet), segments with data as the server's sockets count them, or the share of the connections that
the filter is set to, which knows nothing of how much each of them says.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final


class Kind(StrEnum):
    """What the share was taken from."""

    WHOLE = "whole"
    """Nothing was left out."""
    QUESTIONS = "questions"
    SEGMENTS = "segments"
    NOMINAL = "nominal"


SEGMENTS_ERROR: Final = 0.05
"""Statements of several segments, and connections that are opened and closed between two looks, are why it is not 0."""
_SIGMAS: Final = 2.0
_UNEQUAL: Final = 2.0
"""1 + the square of the variation of how much connections say: as for an exponential distribution."""
_MOST_STRETCHES: Final = 64
_FEW: Final = 100
"""Segments on captured connections below which their share says too little."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of one batch."""

    share: float
    """From 0 to 1."""
    kind: Kind
    error: float | None
    """How far the share may be off, as a part of itself: twice the standard deviation. None: nobody knows."""
    statements: float = 0.0
    """How many there were, captured or not; where nothing was captured the share alone would not tell."""

    def as_map(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "share": round(self.share, 6),
            "of": self.kind.value,
            "error": None if self.error is None else round(self.error, 4),
            "statements": round(self.statements),
        }


@dataclass(slots=True)
class _Stretch:
    """A time in which the same share was captured."""

    share: float
    from_ns: int
    kept: int = 0
    all: int = 0
    """Segments."""
    told: int = 0
    """Of all segments, those that a batch told of."""
    statements: int = 0


class Estimate:
    """Gathers, batch by batch, what was captured and what there was.

    Promise: in a batch in which nothing was left out the share is 1 and the error 0.
    """

    def __init__(self) -> None:
        self._stretches = deque([_Stretch(1.0, 0)], maxlen=_MOST_STRETCHES)
        self._per_segment: float | None = None
        """Statements a segment, as last seen."""
        self._statements = 0.0
        self._total = 0.0
        self._worst = Coverage(1.0, Kind.WHOLE, 0.0)
        self._blind = False

    def share_is(self, share: float, now_ns: int) -> None:
        """The filter keeps that share of the connections from *now_ns* (since 1970) on."""
        if share != self._stretch.share:
            self._settle()
            self._stretches.append(_Stretch(share, now_ns))
        self._blind = self._blind or share <= 0.0

    def segments(self, kept: int, every: int) -> None:
        """The servers' sockets took in so many more segments on connections that are captured, and on all."""
        self._stretch.kept += kept
        self._stretch.all += every

    def statements(self, count: int, at_ns: int, connections: int) -> None:
        """So many more were captured, the last at *at_ns*, on about so many connections.

        They may have waited for long: it is the share of then that tells how many there were.
        """
        stretch = self._at(at_ns)
        stretch.statements += count
        self._statements += count
        if stretch.share >= 1.0:
            self._total += count
        elif stretch.kept >= _FEW:
            self._total += count * stretch.all / stretch.kept
            self._note(Coverage(0.0, Kind.SEGMENTS, SEGMENTS_ERROR))
        else:
            self._total += count / stretch.share
            self._note(Coverage(0.0, Kind.NOMINAL, nominal_error(stretch.share, connections)))

    def take(self) -> Coverage:
        """Of what was gathered since the last time."""
        self._settle()
        found = self._found()
        self._statements = self._total = 0.0
        self._worst = Coverage(1.0, Kind.WHOLE, 0.0)
        self._blind = self._stretch.share <= 0.0
        return found

    @property
    def _stretch(self) -> _Stretch:
        return self._stretches[-1]

    def _at(self, at_ns: int) -> _Stretch:
        """The one that *at_ns* is in; what comes of a time in which nothing passes was on its way before."""
        for stretch in reversed(self._stretches):
            if stretch.from_ns <= at_ns and stretch.share > 0.0:
                return stretch
        return self._stretches[0]

    def _found(self) -> Coverage:
        if self._blind:
            self._note(Coverage(0.0, Kind.NOMINAL, None))
        if self._worst.kind is Kind.WHOLE:
            return Coverage(1.0, Kind.WHOLE, 0.0, self._total)
        share = min(self._statements / self._total, 1.0) if self._total else self._stretch.share
        return Coverage(share, self._worst.kind, self._worst.error, self._total)

    def _settle(self) -> None:
        """Where nothing is captured, what comes is known from segments alone."""
        stretch = self._stretch
        if stretch.kept >= _FEW and stretch.statements:
            self._per_segment = stretch.statements / stretch.kept
        if stretch.share <= 0.0 and self._per_segment is not None and stretch.all > stretch.told:
            self._total += (stretch.all - stretch.told) * self._per_segment
            self._blind = False
            self._note(Coverage(0.0, Kind.SEGMENTS, SEGMENTS_ERROR))
        stretch.told = stretch.all

    def _note(self, part: Coverage) -> None:
        """The worst of its parts is what a batch is."""
        order = list(Kind)
        worst = self._worst
        if order.index(part.kind) > order.index(worst.kind) or (
            part.kind is worst.kind and (part.error is None or (worst.error is not None and part.error > worst.error))
        ):
            self._worst = part


def nominal_error(share: float, connections: int) -> float | None:
    """How far the share of statements may be from that of connections, where so many of them were captured."""
    if connections <= 0:
        return None
    return _SIGMAS * math.sqrt(_UNEQUAL * (1.0 - share) / connections)
