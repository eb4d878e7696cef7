"""How many packets wait in a ring: from the heads of its blocks or frames alone (linux/if_packet.h)."""

from __future__ import annotations

import struct
from typing import Final

# struct tpacket_block_desc: version, offset to private data, status, packets, first, length, sequence
_HEADER: Final = struct.Struct("=6IQ")
_FRAME_STATUS: Final = struct.Struct("=I")  # the beginning of struct tpacket2_hdr
_TO_USER: Final = 1  # TP_STATUS_USER


def waiting(ring: bytes | memoryview, block_bytes: int, block_count: int) -> int:
    """Packets in blocks that nobody has taken yet, those in the block the kernel is filling included.

    That block has the highest sequence number; any other one in the kernel's hands was given back, and what its header
    says is of the past.
    """
    packets = 0
    newest, newest_sequence = 0, 0
    for number in range(block_count):
        _, _, status, held, _, _, sequence = _HEADER.unpack_from(ring, number * block_bytes)
        if status & _TO_USER:
            packets += held
        if sequence > newest_sequence:
            newest, newest_sequence = (0 if status & _TO_USER else held), sequence
    return packets + newest


def frames_waiting(ring: bytes | memoryview, block_bytes: int, frame_bytes: int) -> int:
    """Packets in the frames of a TPACKET_V2 ring that nobody has taken yet: as many frames a block as fit into one."""
    return sum(
        _FRAME_STATUS.unpack_from(ring, block + frame * frame_bytes)[0] & _TO_USER
        for block in range(0, len(ring), block_bytes)
        for frame in range(block_bytes // frame_bytes)
    )
