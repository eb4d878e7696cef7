"""One sample of the host and of querytap's own processes. Reads /proc through psutil; sends nothing."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import psutil

SAMPLE_FORMAT: Final = 1

_Times = Mapping[int, float]
Roots = Callable[[], Iterable[int]]
"""The numbers of processes, as of now."""


@dataclass(frozen=True, slots=True)
class TreeUse:
    """What the processes of querytap have used."""

    cpu_s: _Times
    """CPU time in seconds by process id, user and kernel together, of those that live."""
    rss_bytes: int
    """Resident memory of all, shared pages and mapped rings counted once a process."""


class Tree:
    """The processes that *roots* gives, and all below them. Finding them reads all of /proc, so that is not done
    at each use().

    Promise: one that takes the place of another is found by the next use(), any other within FIND_EVERY of them.
    """

    FIND_EVERY: Final = 30

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._processes: Sequence[psutil.Process] = ()
        self._uses = 0

    def use(self) -> TreeUse:
        """Read what they have used; a process that ends meanwhile is left out."""
        self._uses += 1
        first = self._uses <= 2  # the first is made before all have started
        if first or self._uses % self.FIND_EVERY == 0:
            self._processes = _trees(self._roots())
        found = self._read()
        if len(found.cpu_s) < len(self._processes):
            self._processes = _trees(self._roots())
            found = self._read()
        return found

    def _read(self) -> TreeUse:
        cpu_s: dict[int, float] = {}
        rss_bytes = 0
        for process in self._processes:
            try:
                times = process.cpu_times()
                rss_bytes += process.memory_info().rss
            except psutil.Error:
                continue
            cpu_s[process.pid] = times.user + times.system
        return TreeUse(cpu_s, rss_bytes)


def cpu_percent(before: _Times, after: _Times, seconds: float) -> float:
    """CPU use between two readings, 100 being one core; a process that was not there before counts from its start."""
    if seconds <= 0:
        return 0.0
    used = sum(max(now - before.get(pid, 0.0), 0.0) for pid, now in after.items())
    return round(100 * used / seconds, 2)


def host_figures() -> dict[str, Any]:
    """CPU, memory and load of the host. The first CPU figure of a process says nothing: it has no "before"."""
    memory = psutil.virtual_memory()
    return {
        "cpu_percent": psutil.cpu_percent(None),
        "cpu_count": psutil.cpu_count(),
        "memory_total_bytes": memory.total,
        "memory_available_bytes": memory.available,
        "load": list(os.getloadavg()),
    }


class Sampler:
    """Takes samples; each covers the time since the one before."""

    def __init__(self, roots: Roots) -> None:
        self._tree = Tree(roots)
        self._before = self._tree.use()
        self._at = time.monotonic()
        host_figures()

    def sample(self) -> dict[str, Any]:
        """The next sample, of values that msgpack can carry."""
        use = self._tree.use()
        at = time.monotonic()
        found = {
            "format": SAMPLE_FORMAT,
            "time_ns": time.time_ns(),
            "seconds": round(at - self._at, 3),
            "host": host_figures(),
            "tree": {
                "cpu_percent": cpu_percent(self._before.cpu_s, use.cpu_s, at - self._at),
                "rss_bytes": use.rss_bytes,
                "processes": len(use.cpu_s),
            },
        }
        self._before, self._at = use, at
        return found


def _trees(roots: Iterable[int]) -> Sequence[psutil.Process]:
    found: list[psutil.Process] = []
    for root in roots:
        with contextlib.suppress(psutil.Error):
            top = psutil.Process(root)
            found += [top, *top.children(recursive=True)]
    return found
