"""Descriptors, memory and CPU time of the processes of the servers on this host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil

from collector.monitor.families import Reading, Readings
from collector.monitor.system import families as of

SERVERS: Final = frozenset({"mysqld", "mariadbd"})
"""Names of server processes, as /proc/PID/comm has them."""

_FIND_EVERY: Final = 30


class ServerProcesses:
    """Reads them. To find them all of /proc is read, so that is seldom done, and when one has ended."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._found: list[psutil.Process] = []
        self._reads = 0

    def read(self) -> Readings:
        """Of those that run; what this process may not see is left out."""
        if self._reads % _FIND_EVERY == 0 or not all(process.is_running() for process in self._found):
            self._found = list(self._find())
        self._reads += 1
        return tuple(reading for process in self._found for reading in _read(process))

    def _find(self) -> Iterator[psutil.Process]:
        for folder in self._proc.iterdir():
            if not folder.name.isdecimal():
                continue
            try:
                if (folder / "comm").read_text(encoding="utf-8", errors="replace").rstrip("\n") in SERVERS:
                    yield psutil.Process(int(folder.name))
            except (OSError, psutil.Error):
                continue  # it ended meanwhile


def _read(process: psutil.Process) -> Iterator[Reading]:
    try:
        with process.oneshot():
            labels = (process.name(), str(process.pid))
            memory, times = process.memory_info(), process.cpu_times()
            threads, started = process.num_threads(), process.create_time()
    except psutil.Error:
        return
    yield Reading(of.PROCESS_RESIDENT, memory.rss, labels)
    yield Reading(of.PROCESS_VIRTUAL, memory.vms, labels)
    yield Reading(of.PROCESS_CPU, times.user + times.system, labels)
    yield Reading(of.PROCESS_THREADS, threads, labels)
    yield Reading(of.PROCESS_START, started, labels)
    swapped = _swapped(process.pid)
    if swapped is not None:
        yield Reading(of.PROCESS_SWAPPED, swapped, labels)
    open_fds = _open_fds(process.pid)
    if open_fds is not None:
        yield Reading(of.PROCESS_FDS, open_fds, labels)
    most_fds = _most_fds(process.pid)
    if most_fds is not None:
        yield Reading(of.PROCESS_MOST_FDS, most_fds, labels)


def _open_fds(pid: int) -> int | None:
    """Of another user's process the kernel says how many, since Linux 6.2, and not which."""
    folder = Path(f"/proc/{pid}/fd")
    try:
        return folder.stat().st_size or sum(1 for _ in folder.iterdir())
    except OSError:
        return None


def _most_fds(pid: int) -> float | None:
    for line in _lines(pid, "limits"):
        if line.startswith("Max open files"):
            soft = line.split()[3]
            return float("inf") if soft == "unlimited" else int(soft)
    return None


def _swapped(pid: int) -> int | None:
    for line in _lines(pid, "status"):
        if line.startswith("VmSwap:"):
            return int(line.split()[1]) * 1024
    return None


def _lines(pid: int, name: str) -> list[str]:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
