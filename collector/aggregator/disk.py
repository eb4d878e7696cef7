"""Says what it means that the disk did not do as asked, and what helps. Pure: works on what the system raised."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Final

_RIGHTS: Final = "let process.user write there: see who owns the folder, and its mode"

REMEDIES: Final = {
    errno.ENOSPC: "free space or inodes on that disk",
    errno.EDQUOT: "raise the quota of process.user there, or lower store.local_max_mib",
    errno.EROFS: "see the kernel's log for the reason, then mount it writable (mount -o remount,rw)",
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.EIO: "the disk fails: see the kernel's log",
    errno.ENOENT: "make the folder that is gone, or mount what it is on",
}


def trouble(path: Path, error: OSError) -> str:
    """What went wrong with *path*, and the remedy where there is one. The same each time: it is logged once."""
    reason = error.strerror or str(error)
    remedy = REMEDIES.get(error.errno or 0)
    return f"{path}: {reason}; {remedy}" if remedy else f"{path}: {reason}"
