"""Space and inodes of the file systems. May wait for as long as one of them does not answer."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

import psutil

from collector.monitor.families import Reading, Readings
from collector.monitor.system import families as of

# What node_exporter leaves out too.
_NO_DISK: Final = re.compile(
    "autofs|binfmt_misc|bpf|cgroup2?|configfs|debugfs|devpts|devtmpfs|fusectl|hugetlbfs|iso9660|mqueue|nsfs|overlay|proc"
    "|procfs|pstore|rpc_pipefs|securityfs|selinuxfs|squashfs|sysfs|tracefs"
)
_NO_PLACE: Final = re.compile(
    r"/(?:dev|proc|run/credentials/.+|sys|var/lib/docker/.+|var/lib/containers/storage/.+)(?:$|/.*)"
)


def read() -> Readings:
    """Of those that are mounted, as this process sees them."""
    return tuple(_read())


def _read() -> Iterator[Reading]:
    seen: set[str] = set()
    for disk in psutil.disk_partitions(all=True):
        if disk.mountpoint in seen or _NO_DISK.fullmatch(disk.fstype) or _NO_PLACE.fullmatch(disk.mountpoint):
            continue
        seen.add(disk.mountpoint)
        labels = tuple(map(_printable, (disk.device, disk.fstype, disk.mountpoint)))
        try:
            found = os.statvfs(disk.mountpoint)
        except OSError:
            yield Reading(of.DEVICE_ERROR, 1, labels)
            continue
        yield Reading(of.DEVICE_ERROR, 0, labels)
        yield Reading(of.READ_ONLY, int(bool(found.f_flag & os.ST_RDONLY)), labels)
        for family, blocks in ((of.SIZE, found.f_blocks), (of.FREE, found.f_bfree), (of.AVAILABLE, found.f_bavail)):
            yield Reading(family, blocks * found.f_frsize, labels)
        yield Reading(of.FILES, found.f_files, labels)
        yield Reading(of.FILES_FREE, found.f_ffree, labels)


def _printable(text: str) -> str:
    """Text that can be sent: a path may have bytes that are no UTF-8."""
    return text.encode("utf-8", "replace").decode()
