"""A model of what querytap costs under a load, for the governor to control; in steps of a tenth of a second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from collector.budget.governor import Governor, Measurement
from collector.budget.levels import Level, ladder

STEP_S = 0.1
WINDOW_S = 10.0

Load = Callable[[float], float]
"""What the whole would cost at the first level, in percent of a core, by time in seconds."""


@dataclass(frozen=True, slots=True)
class Plant:
    """What is true of a host."""

    fixed_percent: float = 0.3
    answers_factor: float = 1.7
    """How much more statements cost with their answers."""
    compression_factor: float = 1.1
    lag_s: float = 0.2
    """Between a decision and its effect."""
    backlog_s: float = 0.5
    """So long what was captured before is still worked on."""
    filter_factor: float = 0.0
    """Which part of what all would cost is spent on packets that the filter drops, whatever is shed."""
    phase_s: float = 0.0
    """By how much measurements are off the full second."""

    def percent(self, load: float, level: Level) -> float:
        """What is used at *level*."""
        fixed = self.fixed_percent + (load * self.filter_factor if level.joined else 0.0)
        if not level.captures:
            return fixed
        cost = load / (self.compression_factor if level.cheap else 1.0)
        if level.responses == "none":
            cost /= self.answers_factor
        return fixed + cost * level.share


@dataclass(frozen=True, slots=True)
class Run:
    """What came of it."""

    used: Sequence[float]
    """Percent of a core, by step."""
    uncapped: Sequence[float]
    levels: Sequence[int]

    def windows(self, from_s: float, to_s: float) -> list[float]:
        """The mean of each window of ten seconds that lies between."""
        size = round(WINDOW_S / STEP_S)
        last = round(to_s / STEP_S) - size
        return [sum(self.used[at : at + size]) / size for at in range(round(from_s / STEP_S), last + 1)]

    def changes(self, from_s: float = 0.0, to_s: float = 1e9) -> int:
        """How often the level changed."""
        first, last = round(from_s / STEP_S), min(round(to_s / STEP_S), len(self.levels))
        return sum(a != b for a, b in zip(self.levels[first : last - 1], self.levels[first + 1 : last], strict=True))

    def excess(self, cap: float, from_s: float, to_s: float) -> float:
        """Percent of a core times seconds above *cap*."""
        part = self.used[round(from_s / STEP_S) : round(to_s / STEP_S)]
        return sum(max(0.0, used - cap) for used in part) * STEP_S


def run(load: Load, seconds: float, cap: float, plant: Plant | None = None, responses: str = "first") -> Run:
    """Let the governor control the plant for so long."""
    plant = plant or Plant()
    levels = ladder(responses)
    governor = Governor(levels, cap)
    in_effect = decided = levels[0]
    effective_at = 0.0
    backlog = 0.0
    used: list[float] = []
    uncapped: list[float] = []
    numbers: list[int] = []
    gathered = since = 0.0
    next_at = 1.0 + plant.phase_s
    for number in range(round(seconds / STEP_S)):
        now = number * STEP_S
        if decided is not in_effect and now >= effective_at:
            before, after = plant.percent(load(now), in_effect), plant.percent(load(now), decided)
            backlog = max(0.0, before - after) / 2 * plant.backlog_s  # half of it decays with the queues
            in_effect = decided
        late = min(backlog, backlog * STEP_S / plant.backlog_s + 0.01)
        backlog -= late
        percent = plant.percent(load(now), in_effect) + late / STEP_S
        used.append(percent)
        uncapped.append(plant.percent(load(now), levels[0]))
        gathered += percent * STEP_S
        since += STEP_S
        if now + STEP_S >= next_at - 1e-9:
            decision = governor.decide(Measurement(since, gathered / since))
            if decision.changed:
                decided, effective_at = decision.level, now + STEP_S + plant.lag_s
            gathered = since = 0.0
            next_at += 1.0
        numbers.append(levels.index(governor.level))
    return Run(used, uncapped, numbers)
