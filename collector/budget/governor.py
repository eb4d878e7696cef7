"""Decides from what querytap costs how much of its work it does. Pure: no clock, no I/O; the same measurements give the
same levels.

The law: where a measurement is far above the cap, or the mean of some is above it, go down to the first level that
should cost less, by what each step saves at least. Where for some time so little was used that the level above fits
too, by what each step costs at most, go up by one. Between the two nothing changes. A step up that had to be taken back
is tried again after twice the time; and what a step turned out to cost is remembered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from collector.budget.levels import Level, saving

FAR_ABOVE: Final = 1.25
"""So much above the cap (1.0) one measurement is enough."""
STILL_ABOVE: Final = 1.1
"""The same shortly after load was shed: part of the cost stays whatever is shed, and more has to go at once."""
AIM: Final = 0.8
"""Load is shed until so much of the cap should be used."""
ROOM: Final = 0.85
"""Load is taken on again where no more than that of the cap should be used then,"""
PEAK: Final = 1.1
"""and no more than that in the dearest RECENT_S: single seconds in which objects are sealed say little."""
RECENT_S: Final = 2.5
"""The mean of so long a time is not to be above the cap."""
HOLD_S: Final = 6.0
"""So long little must be used before load is taken on again."""
LONGEST_HOLD_S: Final = 300.0
_WINDOW_S: Final = 10.0
_IN_A_ROW_S: Final = 10.0
"""Within this time of one step down, another one goes twice as far."""
_REVERSED_S: Final = 30.0
"""A step up that is taken back within this time was wrong."""
_STEADY_S: Final = 90.0
"""After so long on a level, wrong steps before are forgotten."""
_REMEMBERED_S: Final = 600.0
"""So long it is remembered what a step turned out to cost."""
_BLIND_HOLD_S: Final = 30.0
"""As HOLD_S where nothing is captured, and nothing tells how much there would be."""
_SHORTEST_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was used since the one before, the kernel's share included."""

    seconds: float
    percent: float
    """Of one core."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The level from now on."""

    level: Level
    number: int
    """Its place in the ladder."""
    why: str
    """Of the last change, for people; empty before the first."""
    changed: bool


@dataclass(slots=True)
class _Step:
    """What is known of the step from one level to the one above."""

    hold_s: float
    learned: float = 0.0
    """By what factor it cost more, when that was last seen; 0: never."""
    learned_at_s: float = 0.0


@dataclass(slots=True)
class _Since:
    """What was measured since the last change."""

    number: int = 0
    """The level before it."""
    percent: float = 0.0
    """What was used just before it."""
    seconds: float = 0.0
    settled: bool = False
    """Whether a measurement was thrown away that held some of the level before."""
    recent: deque[Measurement] = field(default_factory=deque)


class Governor:
    """Takes a measurement at a time, and says which level of *levels* is right.

    Promises, each pinned by a simulation: within two measurements of a step of the load it has shed enough; from then
    on it stays below the cap; it comes back by one level at a time; changes become rarer where they do not last.
    """

    def __init__(self, levels: Sequence[Level], cap_percent: float, number: int = 0) -> None:
        """*number*: the level to begin with."""
        self._levels = tuple(levels)
        self._cap = cap_percent
        self._number = min(number, len(self._levels) - 1)
        self._steps = [_Step(_first_hold_s(level)) for level in self._levels]
        self._since = _Since(settled=True)
        self._now_s = 0.0
        self._went_up_at_s = -_REVERSED_S
        self._in_a_row = 0
        """Steps down, each soon after the one before."""
        self._why = ""

    @property
    def level(self) -> Level:
        """The present one."""
        return self._levels[self._number]

    def bound(self, levels: Sequence[Level], cap_percent: float) -> None:
        """Keep to another cap, or have another ladder, from here on; a level of the same name is kept."""
        if tuple(levels) != self._levels:
            name = self.level.name
            self._levels = tuple(levels)
            names = [level.name for level in levels]
            self._number = names.index(name) if name in names else 0
            self._steps = [_Step(_first_hold_s(level)) for level in self._levels]
            self._since = _Since(number=self._number)
        self._cap = cap_percent

    def decide(self, measured: Measurement) -> Decision:
        """The level from now on, after what was *measured*."""
        self._now_s += measured.seconds
        since = self._since
        since.seconds += measured.seconds
        if not since.settled:
            since.settled = measured.seconds >= _SHORTEST_S
            return self._stay()
        since.recent.append(measured)
        while len(since.recent) > 1 and sum(one.seconds for one in since.recent) - since.recent[0].seconds >= _WINDOW_S:
            since.recent.popleft()
        self._learn()
        if since.seconds >= _STEADY_S and self._number + 1 < len(self._levels):
            below = self._number + 1  # the step from there has turned out right
            self._steps[below].hold_s = _first_hold_s(self._levels[below])
        wanted, why = self._down(measured)
        if wanted == self._number:
            wanted, why = self._up()
        return self._stay() if wanted == self._number else self._move(wanted, measured, why)

    def _stay(self) -> Decision:
        return Decision(self.level, self._number, self._why, False)

    def _move(self, wanted: int, measured: Measurement, why: str) -> Decision:
        if wanted > self._number and self._now_s - self._went_up_at_s <= _REVERSED_S:
            # The step from here's lower neighbour was taken too early.
            step = self._steps[self._number + 1]
            step.hold_s = min(2 * step.hold_s, LONGEST_HOLD_S)
        if wanted < self._number:
            self._went_up_at_s = self._now_s
            self._in_a_row = 0
        else:
            self._in_a_row = self._in_a_row + 1 if self._since.seconds <= _IN_A_ROW_S else 1
        before = measured.percent if wanted > self._number else _mean(self._since.recent, _WINDOW_S)
        self._since = _Since(number=self._number, percent=before)
        self._number = wanted
        self._why = why
        return Decision(self.level, wanted, why, True)

    # --- down

    def _down(self, measured: Measurement) -> tuple[int, str]:
        recent = self._since.recent
        again = self._in_a_row > 0 and self._since.seconds <= _IN_A_ROW_S
        if measured.percent > (STILL_ABOVE if again else FAR_ABOVE) * self._cap:
            used, span = measured.percent, measured.seconds
        elif sum(one.seconds for one in recent) >= RECENT_S and _mean(recent, RECENT_S) > self._cap:
            used, span = _mean(recent, RECENT_S), RECENT_S
        else:
            return self._number, ""
        least = self._number + (1 << self._in_a_row if again else 1)
        wanted, expected = self._number, used
        while wanted + 1 < len(self._levels) and (wanted < least or expected > AIM * self._cap):
            wanted += 1
            expected /= saving(self._levels[wanted]).least
        return wanted, f"{used:.1f} % of a core in {span:.1f} s, {self._cap:g} % allowed"

    # --- up

    def _up(self) -> tuple[int, str]:
        since, step = self._since, self._steps[self._number]
        if self._number == 0 or since.seconds < step.hold_s:
            return self._number, ""
        factor = self._factor()
        mean, peak = _mean(since.recent, _WINDOW_S), _peak(since.recent)
        if mean * factor > ROOM * self._cap or peak * factor > PEAK * self._cap:
            return self._number, ""
        return self._number - 1, f"{mean:.1f} % of a core used, {self._cap:g} % allowed"

    def _factor(self) -> float:
        """By how much the level above may cost more."""
        step = self._steps[self._number]
        known = saving(self.level).most
        if _of_answers(self.level) and step.learned and self._now_s - step.learned_at_s < _REMEMBERED_S:
            return max(known, step.learned)
        return known  # halves cost what halves cost

    def _learn(self) -> None:
        """What the step up that was just made has cost. A step down tells less: it is the load that has changed."""
        since = self._since
        if len(since.recent) == 1 and since.number == self._number + 1 and since.percent:
            step = self._steps[since.number]
            step.learned = since.recent[0].percent / max(since.percent, 0.01 * self._cap)
            step.learned_at_s = self._now_s


def _of_answers(level: Level) -> bool:
    return level.halvings == 0 and level.captures and level.name == level.responses


def _first_hold_s(level: Level) -> float:
    return HOLD_S if level.captures else _BLIND_HOLD_S


def _peak(recent: deque[Measurement]) -> float:
    """The dearest RECENT_S among the last measurements."""
    found = list(recent)
    return max(_mean(found[: number + 1], RECENT_S) for number in range(len(found)))


def _mean(recent: Sequence[Measurement] | deque[Measurement], seconds: float) -> float:
    """Of the last measurements that make up *seconds*, or of all where they do not."""
    covered = used = 0.0
    for one in reversed(recent):
        if covered >= seconds:
            break
        covered += one.seconds
        used += one.seconds * one.percent
    return used / covered if covered else 0.0
