"""Which start of the host this is."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """The kernel's boot id (proc(5)), another one after each start of the host. Raises OSError."""
    return _BOOT_ID.read_text("ascii").strip()
