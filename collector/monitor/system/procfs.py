"""Reads the text of files in /proc (proc(5), kernel Documentation/admin-guide/iostats.rst, accounting/psi.rst).

Pure: the text comes in. A line of a form that is not known is left out, as kernels differ.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Final

from collector.monitor.families import Family, Reading
from collector.monitor.system import families as of

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_MODES: Final = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_SECTOR_BYTES: Final = 512  # whatever the disk has
_MS: Final = 1e-3
_US: Final = 1e-6

_OF_KERNEL: Final = {
    "intr": of.INTERRUPTS,
    "ctxt": of.CONTEXT_SWITCHES,
    "btime": of.BOOT_TIME,
    "processes": of.FORKS,
    "procs_running": of.RUNNING,
    "procs_blocked": of.BLOCKED,
}
_PAGING: Final = re.compile(r"oom_kill|pgpg(?:in|out)|pswp(?:in|out)|pg(?:maj)?fault")

# What node_exporter leaves out too: parts of other disks, and what is none.
_NO_DISK: Final = re.compile(r"(?:ram|loop|fd|(?:h|s|v|xv)d[a-z]|nvme\d+n\d+p)\d+")
_DISK: Final[tuple[tuple[Family, float], ...]] = (
    (of.READS, 1),
    (of.READS_MERGED, 1),
    (of.READ_BYTES, _SECTOR_BYTES),
    (of.READ_TIME, _MS),
    (of.WRITES, 1),
    (of.WRITES_MERGED, 1),
    (of.WRITTEN_BYTES, _SECTOR_BYTES),
    (of.WRITE_TIME, _MS),
    (of.IO_NOW, 1),
    (of.IO_TIME, _MS),
    (of.IO_WEIGHTED, _MS),
    (of.DISCARDS, 1),
    (of.DISCARDS_MERGED, 1),
    (of.DISCARDED_SECTORS, 1),
    (of.DISCARD_TIME, _MS),
    (of.FLUSHES, 1),
    (of.FLUSH_TIME, _MS),
)
"""The fields behind the name, in their order, and what makes one a figure; older kernels have fewer."""

_NETSTAT: Final = {
    "Tcp": frozenset(
        {"ActiveOpens", "CurrEstab", "InErrs", "InSegs", "OutRsts", "OutSegs", "PassiveOpens", "RetransSegs"}
    ),
    "TcpExt": frozenset({"ListenDrops", "ListenOverflows", "TCPSynRetrans", "TCPTimeouts"}),
}


def kernel(text: str) -> Iterator[Reading]:
    """Of /proc/stat: processors by mode, interrupts, context switches, forks."""
    for line in text.splitlines():
        name, *fields = line.split(maxsplit=11)
        if name.startswith("cpu") and name != "cpu":
            for mode, ticks in zip(_MODES, fields, strict=False):
                yield Reading(of.CPU, int(ticks) / _TICKS, (name[3:], mode))
        elif name in _OF_KERNEL and fields:
            yield Reading(_OF_KERNEL[name], int(fields[0]))


def load(text: str) -> Iterator[Reading]:
    """Of /proc/loadavg."""
    for family, value in zip(of.LOAD, text.split(), strict=False):
        yield Reading(family, float(value))


def memory(text: str) -> Iterator[Reading]:
    """Of /proc/meminfo: memory and swap."""
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        words = rest.split()
        if not colon or not words:
            continue
        name = name.replace("(", "_").replace(")", "")
        if words[1:] == ["kB"]:
            yield Reading(of.MEMORY, int(words[0]) * 1024, ending=f"{name}_bytes")
        else:
            yield Reading(of.MEMORY, int(words[0]), ending=name)


def paging(text: str) -> Iterator[Reading]:
    """Of /proc/vmstat."""
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if _PAGING.fullmatch(name):
            yield Reading(of.PAGING, int(value), ending=name)


def disks(text: str) -> Iterator[Reading]:
    """Of /proc/diskstats."""
    for line in text.splitlines():
        _, _, device, *fields = line.split()
        if _NO_DISK.fullmatch(device) is None:
            for (family, unit), value in zip(_DISK, fields, strict=False):
                yield Reading(family, int(value) * unit, (device,))


def network(text: str) -> Iterator[Reading]:
    """Of /proc/net/dev."""
    for line in text.splitlines()[2:]:
        device, colon, rest = line.partition(":")
        if colon:
            for family, value in zip((*of.RECEIVED, *of.SENT), rest.split(), strict=False):
                yield Reading(family, int(value), (device.strip(),))


def tcp(text: str) -> Iterator[Reading]:
    """Of /proc/net/snmp and /proc/net/netstat, which have a line of names before each line of values."""
    lines = text.splitlines()
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        group, _, listed = names.partition(":")
        wanted = _NETSTAT.get(group, frozenset())
        pairs: Iterator[Sequence[str]] = zip(listed.split(), values.split()[1:], strict=False)
        for name, value in pairs:
            if name in wanted:
                yield Reading(of.NETSTAT, int(value), ending=f"{group}_{name}")


def file_handles(text: str) -> Iterator[Reading]:
    """Of /proc/sys/fs/file-nr."""
    allocated, _, most = text.split()
    yield Reading(of.FILE_HANDLES, int(allocated))
    yield Reading(of.FILE_HANDLES_MOST, float(most))


def pressure(resource: str, text: str) -> Iterator[Reading]:
    """Of /proc/pressure/RESOURCE."""
    for line in text.splitlines():
        share, *fields = line.split()
        family = of.PRESSURE.get((resource, share))
        total = next((field[6:] for field in fields if field.startswith("total=")), None)
        if family is not None and total is not None:
            yield Reading(family, int(total) * _US)
