"""How long packets gather in the kernel before anybody looks, where it would wake somebody for each. No clock here.

There is a price on both sides: who looks seldom lets them fill what they wait in; who looks often pays for it.
"""

from __future__ import annotations

from typing import Final

SHORTEST_S: Final = 0.001
LONGEST_S: Final = 0.1
_BURST: Final = 64_000
"""Packets a second that may begin to come at any moment, after which none is to be lost."""
_SHARE: Final = 1 / 8
"""Of the room that may be filled at the rate at which they came last: so many times that is bridged."""


class Gathering:
    """The pause that suits *room* packets at the rate at which they come."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._longest_s = min(room / _BURST, LONGEST_S)
        self._looked = 0.0
        self.pause_s = self._longest_s

    def looked(self, now: float, came: int) -> None:
        """So many came since the last time; *now* is of any steady clock, in seconds."""
        rate = came / max(now - self._looked, SHORTEST_S)
        wanted = self._room * _SHARE / rate if rate else self._longest_s
        self.pause_s = max(min(wanted, self._longest_s), SHORTEST_S)
        self._looked = now
