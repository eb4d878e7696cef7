"""Writes capture files: classic pcap with nanosecond stamps and Ethernet frames."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_NANOSECOND_MAGIC: Final = 0xA1B23C4D
_SNAP_BYTES: Final = 262_144
_ETHERNET: Final = 1
_RECORD: Final = struct.Struct("<IIII")


def write(path: Path, records: Iterable[tuple[int, bytes]]) -> None:
    """Write (time in ns, frame) *records* to *path*, which is replaced."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", _NANOSECOND_MAGIC, 2, 4, 0, 0, _SNAP_BYTES, _ETHERNET))
        for time_ns, frame in records:
            second, nanosecond = divmod(time_ns, 1_000_000_000)
            file.write(_RECORD.pack(second, nanosecond, len(frame), len(frame)))
            file.write(frame)
