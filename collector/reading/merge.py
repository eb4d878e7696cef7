"""Puts the lines of many objects in order of time, with few of them open at once. Pure: what opens one is an argument.

Within an instance the order is that of its host's monotonic clock, boot after boot, so that statements stay in the
order in which they ran when somebody sets the clock. Instances are put together by the time that they tell.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from collector.reading.archive import Entry
from collector.reading.runs import Line

MOST_OPEN: Final = 64
"""Objects of an instance that are read side by side. Where more of them overlap, the order is that of these."""
_NEVER: Final = 1 << 64


class Opened(NamedTuple):
    """What is in an object: its lines in sorted runs, and the boot that its monotonic times are of."""

    boot: str
    runs: list[Iterator[Line]]


Open = Callable[[Entry], Opened]


def in_order_of_time(entries: Sequence[Entry], open_entry: Open) -> Iterator[bytes]:
    """The lines of *entries*, which come by sequence within an instance; those whose names tell nothing come last."""
    instances: dict[str, list[Entry]] = {}
    for entry in entries:
        instances.setdefault(entry.path if entry.name is None else entry.name.instance, []).append(entry)
    starts = [(min(map(_first_ns, group)), number) for number, group in enumerate(instances.values())]
    waiting, groups = deque(sorted(starts)), list(instances.values())
    heads: list[tuple[int, int, Line, Iterator[Line]]] = []
    while heads or waiting:
        while waiting and (not heads or waiting[0][0] <= heads[0][0]):
            number = waiting.popleft()[1]
            lines = _of_instance(groups[number], open_entry)
            if (line := next(lines, None)) is not None:
                heapq.heappush(heads, (line.time_ns, number, line, lines))
        following_ns = waiting[0][0] if waiting else _NEVER
        while heads and heads[0][0] < following_ns:
            _, number, line, lines = heads[0]
            yield line.data
            if (following := next(lines, None)) is None:
                heapq.heappop(heads)
            else:
                heapq.heapreplace(heads, (following.time_ns, number, following, lines))


class _Instance:
    """The objects of one instance that are open, and those that are to be."""

    def __init__(self, entries: Sequence[Entry], open_entry: Open) -> None:
        self._open_entry = open_entry
        self._by_sequence = deque(entries)
        self._by_time = deque(sorted(entries, key=_first_ns))
        self._opened: set[str] = set()
        self._boots: dict[str, int] = {}
        self._number = 0
        self.heads: list[tuple[int, int, int, Line, Iterator[Line]]] = []
        """By boot, monotonic time, and when it was opened."""

    def next_ns(self) -> int:
        """When the next object that is not open begins, as its name says."""
        while self._by_time and self._by_time[0].path in self._opened:
            self._by_time.popleft()
        return _first_ns(self._by_time[0]) if self._by_time and len(self.heads) < MOST_OPEN else _NEVER

    def open_next(self) -> bool:
        """Open the one of the lowest sequence; False where there is none."""
        while self._by_sequence:
            entry = self._by_sequence.popleft()
            if entry.path not in self._opened:
                self._open(entry)
                return True
        return False

    def open_earliest(self) -> None:
        """Open the one that begins first."""
        self.next_ns()
        self._open(self._by_time.popleft())

    def _open(self, entry: Entry) -> None:
        self._opened.add(entry.path)
        opened = self._open_entry(entry)
        boot = self._boots.setdefault(opened.boot, 0 if entry.name is None else entry.name.sequence)
        for lines in opened.runs:
            self._number += 1
            if (line := next(lines, None)) is not None:
                heapq.heappush(self.heads, (boot, line.monotonic_ns, self._number, line, lines))


def _of_instance(entries: Sequence[Entry], open_entry: Open) -> Iterator[Line]:
    instance = _Instance(entries, open_entry)
    heads = instance.heads
    while heads or instance.open_next():
        if not heads:
            continue
        while heads[0][3].time_ns >= instance.next_ns():
            instance.open_earliest()
        starts = instance.next_ns()
        while heads:
            boot, _, number, line, lines = heads[0]
            if line.time_ns >= starts:
                break
            yield line
            if (following := next(lines, None)) is None:
                heapq.heappop(heads)
                break
            heapq.heapreplace(heads, (boot, following.monotonic_ns, number, following, lines))


def _first_ns(entry: Entry) -> int:
    return _NEVER if entry.name is None else entry.name.first_ns
