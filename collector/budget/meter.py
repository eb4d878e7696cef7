"""Reads what the processes of querytap have used. Reads /proc through psutil, and the processes' CPU clocks.

psutil gives CPU time in ticks of the kernel, 10 ms as a rule: far too coarse for a second's share of a small cap. The
CPU clock of a process (clock_getcpuclockid(3)) gives it in nanoseconds, of all threads, for one system call. What ended
children used is in psutil's figures of the process that has waited for them, and there alone.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import psutil

Roots = Callable[[], Iterable[int]]
"""The numbers of processes, as of now."""

_FIND_EVERY_S: Final = 300.0
"""Finding the processes reads all of /proc."""
_RESTLESS: Final = 5
"""So many readings after the start, or after a process has ended, they are looked for each time: others may follow."""
_SCHEDULER_CLOCK: Final = 2  # CPUCLOCK_SCHED, include/linux/posix-timers.h


@dataclass(frozen=True, slots=True)
class Used:
    """CPU seconds of one process since its start."""

    own_s: float
    reaped_s: float
    """Of its children that have ended, and theirs."""
    parent: int


Reading = Mapping[int, Used]
"""By process id."""


class Meter:
    """Follows the processes that *roots* gives, and all below them.

    Promises: a process that takes the place of another is found with the next readings, any other within five minutes.
    What a process used between its last reading and its end is counted where one of ours has waited for it.
    """

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._processes: Sequence[psutil.Process] = ()
        self._found_s = 0.0
        self._restless = _RESTLESS

    def read(self, now_s: float) -> Reading:
        """What each has used; *now_s* is monotonic."""
        if self._restless or now_s - self._found_s >= _FIND_EVERY_S:
            self._find(now_s)
        found = self._read()
        if len(found) < len(self._processes):
            self._restless = _RESTLESS
            self._find(now_s)
            found = self._read()
        return found

    def _find(self, now_s: float) -> None:
        self._found_s = now_s
        self._restless = max(self._restless - 1, 0)
        found: dict[int, psutil.Process] = {}
        for root in self._roots():
            with contextlib.suppress(psutil.Error):
                top = psutil.Process(root)
                found |= {one.pid: one for one in (top, *top.children(recursive=True))}
        self._processes = tuple(found.values())

    def _read(self) -> dict[int, Used]:
        found: dict[int, Used] = {}
        for process in self._processes:
            try:
                with process.oneshot():
                    times, parent = process.cpu_times(), process.ppid()
            except psutil.Error:
                continue
            own_s = _clock_s(process.pid)
            found[process.pid] = Used(
                own_s=times.user + times.system if own_s is None else own_s,
                reaped_s=times.children_user + times.children_system,
                parent=parent,
            )
        return found


def spent(before: Reading, after: Reading) -> float:
    """CPU seconds that were used between two readings; a process that is new counts from its start."""
    total = 0.0
    for pid, now in after.items():
        then = before.get(pid)
        total += now.own_s - then.own_s if then else now.own_s
        total += now.reaped_s - then.reaped_s if then else now.reaped_s
    for pid, gone in before.items():
        if pid not in after and gone.parent in after:  # what it had used is now among what its parent has reaped
            total -= gone.own_s + gone.reaped_s
    return max(total, 0.0)


def _clock_s(pid: int) -> float | None:
    try:
        return time.clock_gettime((~pid << 3) | _SCHEDULER_CLOCK)
    except OSError:
        return None
