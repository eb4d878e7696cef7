"""Disks of a guest, made of a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from tests.support import debian

_MIB: Final = 1 << 20


def make(disk: Path, content: Path, free_mib: int) -> None:
    """Make *disk* an ext4 file system of what *content* holds. Raises UnavailableError."""
    files = [Path(folder, name) for folder, _, names in os.walk(content) for name in names]
    used = sum(file.lstat().st_size // 4096 + 1 for file in files) * 4096
    with disk.open("wb") as file:
        file.truncate((used * 5 // 4 // _MIB + 16 + free_mib) * _MIB)
    # Without a journal: nobody reads it after a crash.
    debian.run(["mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-d", str(content), str(disk)])
