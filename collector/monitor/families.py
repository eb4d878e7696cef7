"""What a metric is: its family, which is declared once, and a reading of it. Reads nothing and serves nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

Kind = Literal["counter", "gauge", "unknown"]
"""As OpenMetrics has them. "unknown" is what exporters call untyped: either, as the server does not say which."""

ANY: Final = "*"
"""Is in the name of a family that has a member for each figure that the server or the kernel happens to have."""


@dataclass(frozen=True, slots=True)
class Family:
    """Metrics of one name. Of a counter the name ends with `_total`."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()


class Reading(NamedTuple):
    """One value, as of now."""

    family: Family
    value: float
    labels: tuple[str, ...] = ()
    """Values of the family's labels, in its order."""
    ending: str = ""
    """What stands in place of ANY."""

    @property
    def name(self) -> str:
        """The name it is served under."""
        return self.family.name.replace(ANY, self.ending)


Readings = Sequence[Reading]
