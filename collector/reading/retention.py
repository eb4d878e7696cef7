"""Which objects of an archive go for their age or its size: the oldest of each instance, by what names tell. Pure."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from collector.archive.names import ObjectName, PrunedName
from collector.reading.archive import Entry, Listing


@dataclass(frozen=True, slots=True)
class Bounds:
    """What an archive is kept to."""

    before_ns: int | None = None
    """All that an object holds must be older to let it go."""
    most_bytes: int | None = None
    """All objects together."""


@dataclass(slots=True)
class Going:
    """What goes of one instance: its oldest objects, none left out."""

    instance: str
    entries: list[Entry] = field(default_factory=list)
    """In the order of their sequence."""

    @property
    def last(self) -> ObjectName:
        """The newest of them."""
        name = self.entries[-1].name
        assert name is not None  # others are never chosen
        return name

    @property
    def note(self) -> PrunedName:
        """What is to tell that they were removed on purpose."""
        return PrunedName(self.instance, self.last.sequence, self.last.hash_start)

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(entry.size for entry in self.entries)


def going(listing: Listing, bounds: Bounds, instances: frozenset[str] = frozenset()) -> list[Going]:
    """What goes by *bounds*, of *instances* or of all. What is not named as our objects are stays, and is in no sum.

    Objects go in the order of their sequence alone, so that none is missing between two that stay: one that was sealed
    while the clock was ahead keeps those behind it until its own time has come.
    """
    queues = _by_instance(entry for entry in listing.entries if entry.may_be_of(instances))
    found = {instance: Going(instance) for instance in queues}
    if bounds.before_ns is not None:
        for instance, queue in queues.items():
            while queue and _last_ns(queue[0]) < bounds.before_ns:
                found[instance].entries.append(queue.popleft())
    if bounds.most_bytes is not None:
        excess = sum(entry.size for queue in queues.values() for entry in queue) - bounds.most_bytes
        for entry in _oldest_first(queues):
            if excess <= 0:
                break
            assert entry.name is not None
            found[entry.name.instance].entries.append(entry)
            excess -= entry.size
    return sorted((each for each in found.values() if each.entries), key=attrgetter("instance"))


def _by_instance(entries: Iterable[Entry]) -> dict[str, deque[Entry]]:
    queues: dict[str, deque[Entry]] = {}
    for entry in entries:
        if entry.name is not None:
            queues.setdefault(entry.name.instance, deque()).append(entry)
    return queues


def _oldest_first(queues: Mapping[str, deque[Entry]]) -> Iterator[Entry]:
    heads = [(_last_ns(queue[0]), instance) for instance, queue in queues.items() if queue]
    heapq.heapify(heads)
    while heads:
        _, instance = heapq.heappop(heads)
        yield queues[instance].popleft()
        if queues[instance]:
            heapq.heappush(heads, (_last_ns(queues[instance][0]), instance))


def _last_ns(entry: Entry) -> int:
    assert entry.name is not None
    return entry.name.last_ns
