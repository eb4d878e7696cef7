"""Lays generated packets out as a TPACKET_V3 ring holds them (packet(7), linux/if_packet.h): bytes only.

The packets are those that the product's own filter would pass for a `responses` setting, from their IP header on, as
an AF_PACKET socket of type SOCK_DGRAM delivers them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from bench import frames

BLOCK_BYTES: Final = 1 << 20
STATUS_AT: Final = 8
TO_USER: Final = 1  # TP_STATUS_USER

_BLOCK: Final = struct.Struct("=IIIIIIQIIII")  # tpacket_block_desc with tpacket_hdr_v1
_PACKET: Final = struct.Struct("=IIIIIIHHIIHxx8x")  # tpacket3_hdr
_IP_AT: Final = 96  # TPACKET_ALIGN(tpacket3_hdr + sockaddr_ll) + 16, af_packet.c: tpacket_rcv()
_PREPARED: Final = b"\x0c\0\0"  # the length of a COM_STMT_PREPARE_OK, whose statement id is wanted in any case
_LAST_ANSWER_SEQUENCE: Final = 8


@dataclass(frozen=True, slots=True)
class Image:
    """Blocks one after the other, none handed to the reader yet; the time of the last packet of each, in ns."""

    data: bytes
    ends_ns: list[int]
    packets: int


def passes(frame: bytes, server_port: int, responses: str) -> bool:
    """Whether the product's filter lets *frame* through."""
    tcp = frames.ETHERNET_BYTES + frames.IP_BYTES
    payload = frame[tcp + (frame[tcp + 12] >> 4) * 4 :]
    if not payload:
        return bool(frame[tcp + 13] & (frames.FIN | frames.SYN))
    if struct.unpack_from("!H", frame, tcp + 2)[0] == server_port:
        return True
    if responses == "none" and payload[3] == 1 and payload[4:5] == b"\0" and payload[:3] == _PREPARED:
        return True
    if responses in {"none", "first"}:
        return payload[3] <= (0 if responses == "none" else _LAST_ANSWER_SEQUENCE)
    return True  # "timing" cuts long answers short besides, which no answer of the workload is


def build(stamped: Iterable[tuple[int, bytes]], server_port: int, responses: str, timeout_ns: int) -> Image:
    """A ring that the frames in *stamped*, each with its time, fill when blocks are handed over after *timeout_ns*."""
    kept = [(time_ns, frame) for time_ns, frame in stamped if passes(frame, server_port, responses)]
    blocks: list[bytes] = []
    ends_ns: list[int] = []
    for number, block in enumerate(_divided(kept, timeout_ns)):
        blocks.append(_packed(number, block))
        ends_ns.append(block[-1][0])
    return Image(b"".join(blocks), ends_ns, len(kept))


def _divided(packets: list[tuple[int, bytes]], timeout_ns: int) -> Iterator[list[tuple[int, bytes]]]:
    block: list[tuple[int, bytes]] = []
    size = _BLOCK.size
    for time_ns, frame in packets:
        needed = _step(len(frame) - frames.ETHERNET_BYTES)
        if block and (size + needed > BLOCK_BYTES or time_ns - block[0][0] > timeout_ns):
            yield block
            block, size = [], _BLOCK.size
        block.append((time_ns, frame))
        size += needed
    if block:
        yield block


def _step(length: int) -> int:
    return (_IP_AT + length + 7) & ~7


def _packed(number: int, block: list[tuple[int, bytes]]) -> bytes:
    parts = [b""]
    size = _BLOCK.size
    for place, (time_ns, frame) in enumerate(block):
        packet = frame[frames.ETHERNET_BYTES :]
        step = _step(len(packet))
        second, nanosecond = divmod(time_ns, 1_000_000_000)
        following = step if place + 1 < len(block) else 0
        header = _PACKET.pack(following, second, nanosecond, len(packet), len(packet), TO_USER, _IP_AT, _IP_AT, 0, 0, 0)
        parts.append((header.ljust(_IP_AT, b"\0") + packet).ljust(step, b"\0"))
        size += step
    first, last = divmod(block[0][0], 1_000_000_000), divmod(block[-1][0], 1_000_000_000)
    parts[0] = _BLOCK.pack(1, 0, 0, len(block), _BLOCK.size, size, number + 1, *first, *last)
    return b"".join(parts).ljust(BLOCK_BYTES, b"\0")
