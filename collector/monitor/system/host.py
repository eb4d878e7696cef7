"""Reads the figures of the host. What this kernel or these rights do not give is left out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from collector.monitor.families import Reading, Readings
from collector.monitor.system import families as of
from collector.monitor.system import procfs

_PROC: Final = Path("/proc")

_FILES: Final[tuple[tuple[str, Callable[[str], Iterable[Reading]]], ...]] = (
    ("stat", procfs.kernel),
    ("loadavg", procfs.load),
    ("meminfo", procfs.memory),
    ("vmstat", procfs.paging),
    ("diskstats", procfs.disks),
    ("net/dev", procfs.network),
    ("net/snmp", procfs.tcp),
    ("net/netstat", procfs.tcp),
    ("sys/fs/file-nr", procfs.file_handles),
    *((f"pressure/{resource}", partial(procfs.pressure, resource)) for resource in ("cpu", "io", "memory")),
)


def read(proc: Path = _PROC) -> Readings:
    """All of them, as of now."""
    return tuple(_read(proc))


def _read(proc: Path) -> Iterator[Reading]:
    yield Reading(of.TIME, time.time())
    for name, parse in _FILES:
        try:
            text = (proc / name).read_text(encoding="utf-8", errors="replace")
        except OSError:  # a kernel without it, or a container's /proc; PSI that is switched off answers EOPNOTSUPP
            continue
        yield from parse(text)
