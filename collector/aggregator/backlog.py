"""Decides which object of the spool goes to the store next, and which is evicted first. Pure: knows names and sizes.

The newest and the oldest take turns. Whoever looks for what has just happened finds it although hours of backlog wait,
and a host that has come back shows as alive at once; eviction would take the oldest next. Neither starves.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable


class Backlog:
    """Objects that the store is not known to have.

    Promise: each is waiting, away (on its way to the store), or no longer here; only one that waits is evicted.
    """

    def __init__(self, found: Iterable[tuple[str, int]] = ()) -> None:
        self._waiting: OrderedDict[str, int] = OrderedDict()
        self._failed: dict[str, int] = {}
        """Those that go again when all others have had their turn: one that is always refused holds up no other."""
        self._away: dict[str, int] = {}
        self._turn: dict[str, int] = {}
        """When each came, for their order."""
        self._came = 0
        self._from_the_newest = True
        self.size_bytes = 0
        for name, size in found:
            self.add(name, size)

    def __len__(self) -> int:
        return len(self._turn)

    def __contains__(self, name: object) -> bool:
        return name in self._turn

    @property
    def away(self) -> int:
        """How many are on their way."""
        return len(self._away)

    @property
    def waiting(self) -> bool:
        """Whether there is one to take."""
        return bool(self._waiting or self._failed)

    def add(self, name: str, size: int) -> None:
        """A new one, the newest of all."""
        self._waiting[name] = size
        self._turn[name] = self._came
        self._came += 1
        self.size_bytes += size

    def take(self) -> tuple[str, int] | None:
        """The next one and its size, from now on away; None when none waits."""
        if not self._waiting:
            self._waiting = OrderedDict(sorted(self._failed.items(), key=lambda item: self._turn[item[0]]))
            self._failed = {}
        if not self._waiting:
            return None
        name, size = self._waiting.popitem(last=self._from_the_newest)
        self._from_the_newest = not self._from_the_newest
        self._away[name] = size
        return name, size

    def failed(self, name: str) -> None:
        """It has come back, and waits again behind the others."""
        self._failed[name] = self._away.pop(name)

    def remove(self, name: str) -> int:
        """It is in the store, or evicted, or gone: no longer here. Its size."""
        size = self._away.pop(name, None)
        if size is None:
            size = self._waiting.pop(name, None)
        if size is None:
            size = self._failed.pop(name)
        self.size_bytes -= size
        del self._turn[name]
        return size

    def oldest(self) -> str | None:
        """The one to evict first: the oldest that is not away."""
        first = next(iter(self._waiting), None)
        candidates = [*self._failed, *([] if first is None else [first])]
        return min(candidates, key=self._turn.__getitem__, default=None)

    def head(self) -> str | None:
        """The oldest of all, away or not."""
        return next(iter(self._turn), None)
