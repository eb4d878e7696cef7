"""When figures that should stay as they are grew: since when, last, and by how much. Pure: times are arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass


@dataclass(slots=True)
class Moment:
    """Growth of one figure since it was first told."""

    first: str
    last: str
    """Times, as they were given."""
    grown: int


class Moments:
    """Compares each figure with what it was the last time; one that falls has begun anew, and grows from there."""

    def __init__(self) -> None:
        self._before: dict[str, int] = {}
        self._found: dict[str, Moment] = {}

    def note(self, time: str, figures: Mapping[str, int]) -> None:
        """Take the figures of now."""
        for name, value in figures.items():
            grown = value - self._before.get(name, value)
            self._before[name] = value
            if grown <= 0:
                continue
            moment = self._found.setdefault(name, Moment(time, time, 0))
            moment.last = time
            moment.grown += grown

    def as_map(self) -> dict[str, dict[str, object]]:
        """Those that have grown, as plain values."""
        return {name: asdict(moment) for name, moment in self._found.items()}
