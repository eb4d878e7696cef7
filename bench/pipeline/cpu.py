"""CPU time of a process and all its descendants, from /proc (proc(5)).

Two clocks are read: the run time of every thread from schedstat, in ns, which is what figures are made of; and user
and system time from stat, in ticks of 10 ms, for the split between the two and for processes that have ended.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_ROLES: Final = {
    "collector.aggregator": "aggregator",
    "collector.capture": "capture",
    "collector.monitor": "monitor",
    "collector.cli": "supervisor",
}


@dataclass(frozen=True, slots=True)
class Usage:
    """One process at one moment."""

    role: str
    run_ns: int
    user_s: float
    system_s: float
    anonymous_bytes: int
    """Resident memory without files and without the packet ring, which is mapped like one."""
    wake_ups: int = 0
    """Times one of its threads had waited for something and went on."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a tree spent between two moments."""

    run_s: float
    user_s: float
    system_s: float
    roles: dict[str, float]
    """Run time in seconds by role."""
    memory_mib: float
    changed: bool
    """Processes came or went in between: the figures are too low."""
    wake_ups: int
    wake_ups_by_role: dict[str, int]


def snapshot(root: int) -> dict[int, Usage]:
    """Every living process of the tree under *root*, by its process id."""
    children: dict[int, list[int]] = {}
    for pid in (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()):
        parent = _parent(pid)
        if parent is not None:
            children.setdefault(parent, []).append(pid)
    found: dict[int, Usage] = {}
    waiting: list[tuple[int, str]] = [(root, "")]
    while waiting:
        pid, above = waiting.pop()
        usage = _usage(pid, above)
        if usage is not None:
            found[pid] = usage
            waiting += [(child, usage.role) for child in children.get(pid, ())]
    return found


def spent(before: dict[int, Usage], after: dict[int, Usage]) -> Spent:
    """What the tree spent from *before* to *after*."""
    roles: dict[str, float] = {}
    user = system = 0.0
    wake_ups: Counter[str] = Counter()
    for pid in before.keys() & after.keys():
        old, new = before[pid], after[pid]
        roles[new.role] = roles.get(new.role, 0.0) + (new.run_ns - old.run_ns) / 1e9
        user += new.user_s - old.user_s
        system += new.system_s - old.system_s
        wake_ups[new.role] += new.wake_ups - old.wake_ups
    memory = sum(usage.anonymous_bytes for usage in after.values()) / (1 << 20)
    changed = before.keys() != after.keys()
    return Spent(sum(roles.values()), user, system, roles, memory, changed, wake_ups.total(), dict(wake_ups))


def busy_s() -> float:
    """CPU seconds the whole machine has been at work since it started, softirqs included."""
    numbers = [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]]
    user, nice, system, _idle, _waiting, interrupt, soft = numbers[:7]
    return (user + nice + system + interrupt + soft) / _TICKS


def _parent(pid: int) -> int | None:
    fields = _stat(pid)
    return None if fields is None else int(fields[1])


def _stat(pid: int) -> list[str] | None:
    """The fields of stat behind the command, whose name may hold anything; None when the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(") ")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def _usage(pid: int, above: str) -> Usage | None:
    fields = _stat(pid)
    if fields is None:
        return None
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        run_ns = sum(int((thread / "schedstat").read_text(encoding="ascii").split()[0]) for thread in threads)
        wake_ups = sum(_number(thread / "status", "voluntary_ctxt_switches:") for thread in threads)
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
        role = _role(pid, above)
    except (FileNotFoundError, ProcessLookupError):
        return None
    anonymous = next((int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("RssAnon:")), 0)
    return Usage(role, run_ns, int(fields[11]) / _TICKS, int(fields[12]) / _TICKS, anonymous, wake_ups)


def _number(status: Path, name: str) -> int:
    lines = status.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)


def _role(pid: int, above: str) -> str:
    if above in {"capture", "worker"}:
        return "worker"  # a fork of capture, with its command line
    words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    for module, role in _ROLES.items():
        if module in words:
            return role
    return Path(words[0]).name
