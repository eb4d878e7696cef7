"""What is given up to keep to the budget, the least valuable first: a ladder of levels. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

RESPONSES: Final = ("all", "timing", "first", "none")
"""How much of the answers is looked at, the dearest first."""
MOST_HALVINGS: Final = 10
"""So often the share of the connections is halved before nothing is captured any more."""

FULL: Final = "full"
COMPRESSION: Final = "compression"
DROP: Final = "drop"
LEAVE: Final = "leave"


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One rung of the ladder: what is still done there."""

    name: str
    """"full", "compression", one of RESPONSES, "1/2" and so on, "drop" or "leave"."""
    responses: str
    cheap: bool = True
    """Whether objects are compressed at the least cost."""
    halvings: int = 0
    """The share of the connections that is captured is 1 / 2**halvings of what is configured."""
    captures: bool = True
    """Whether the filter lets anything pass."""
    joined: bool = True
    """Whether the sockets are there at all: even a filter that drops all costs something for each packet."""

    @property
    def share(self) -> float:
        """The share of the connections, nominally."""
        return 2.0**-self.halvings if self.captures else 0.0


@dataclass(frozen=True, slots=True)
class Saving:
    """By how much a rung costs less than the one above it, as a factor."""

    least: float
    """That much is counted on when load is shed, so that enough of it is."""
    most: float
    """That much more is reckoned with when load is taken on again, so that it is not too much."""


_COMPRESSION: Final = Saving(1.05, 1.3)
_RESPONSES: Final = {"timing": Saving(1.5, 3.0), "first": Saving(1.3, 3.0), "none": Saving(1.3, 2.2)}
_HALF: Final = Saving(1.7, 2.05)
_ALL: Final = Saving(8.0, 2.0)  # what is left has next to no packets


def ladder(responses: str, *, none: bool = True, leave: bool = True) -> tuple[Level, ...]:
    """The levels from the first, where nothing is given up, to the last.

    *responses* is what is configured; *none*: whether answers can be given up, which they cannot where latency decides
    what is shipped; *leave*: whether the sockets can be closed.
    """
    return tuple(_levels(responses, none=none, leave=leave))


def _levels(responses: str, *, none: bool, leave: bool) -> Iterator[Level]:
    yield Level(name=FULL, responses=responses, cheap=False)
    yield Level(name=COMPRESSION, responses=responses)
    last = responses
    for lower in RESPONSES[RESPONSES.index(responses) + 1 :]:
        if lower != "none" or none:
            last = lower
            yield Level(name=lower, responses=lower)
    for halvings in range(1, MOST_HALVINGS + 1):
        yield Level(name=f"1/{1 << halvings}", responses=last, halvings=halvings)
    yield Level(name=DROP, responses=last, captures=False)
    if leave:
        yield Level(name=LEAVE, responses=last, captures=False, joined=False)


def saving(level: Level) -> Saving:
    """What *level* saves over the one above it, as far as that is known beforehand; not of the first level."""
    if level.name == COMPRESSION:
        return _COMPRESSION
    if level.name in _RESPONSES:
        return _RESPONSES[level.name]
    return _HALF if level.captures else _ALL
