"""Reads a mapped ring in the plainest way (linux/if_packet.h), as a second opinion to workers.ring and framering."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from typing import NamedTuple

from collector.capture.sockets import PacketSocket

_BLOCK = struct.Struct("=6IQ")  # version, private, status, packets, first, length, sequence
_FRAME = struct.Struct("=6I2H")  # next, sec, nsec, snaplen, len, status, mac, net
_LINK = struct.Struct("=HHiHBB")  # sockaddr_ll: family, protocol, ifindex, hatype, pkttype, halen
_LINK_AT = 48  # behind the header and its union, aligned
_VLAN = struct.Struct("=IH")  # of struct tpacket_hdr_variant1: tag, protocol
_VLAN_AT = 32
_V2_FRAME = struct.Struct("=3I2H2I2H")  # status, len, snaplen, mac, net, sec, nsec, VLAN tag, VLAN protocol
_V2_LINK_AT = 32


class Frame(NamedTuple):
    """One packet of a ring."""

    data: bytes
    interface: int
    time_ns: int
    length: int
    """On the wire."""
    kind: int
    """PACKET_HOST, PACKET_OUTGOING and so on."""
    vlan: tuple[int, int]
    """Tag and protocol."""


def frames(packet_socket: PacketSocket) -> Iterator[Frame]:
    """The packets of all blocks that are ready; the blocks stay as they are."""
    for further_s in (0, 3600):  # what is not full then is over age, and handed over
        packet_socket.gather(time.monotonic() + further_s)
    read = _in_frames if packet_socket.frame_bytes else _in_blocks
    yield from read(packet_socket)


def _in_blocks(packet_socket: PacketSocket) -> Iterator[Frame]:
    ring = packet_socket.memory
    for start in range(0, packet_socket.ring_bytes, packet_socket.block_bytes):
        _, _, status, packets, first, _, _ = _BLOCK.unpack_from(ring, start)
        at = start + first
        for _ in range(packets if status & 1 else 0):
            step, sec, nsec, kept, length, _, mac, _ = _FRAME.unpack_from(ring, at)
            _, _, interface, _, kind, _ = _LINK.unpack_from(ring, at + _LINK_AT)
            vlan = _VLAN.unpack_from(ring, at + _VLAN_AT)
            data = bytes(ring[at + mac : at + mac + kept])
            yield Frame(data, interface, sec * 1_000_000_000 + nsec, length, kind, vlan)
            at += step


def _in_frames(packet_socket: PacketSocket) -> Iterator[Frame]:
    ring = packet_socket.memory
    for start in range(0, packet_socket.ring_bytes, packet_socket.block_bytes):
        for number in range(packet_socket.block_bytes // packet_socket.frame_bytes):
            at = start + number * packet_socket.frame_bytes
            status, length, kept, mac, _, sec, nsec, *vlan = _V2_FRAME.unpack_from(ring, at)
            _, _, interface, _, kind, _ = _LINK.unpack_from(ring, at + _V2_LINK_AT)
            if status & 1:
                data = bytes(ring[at + mac : at + mac + kept])
                yield Frame(data, interface, sec * 1_000_000_000 + nsec, length, kind, (vlan[0], vlan[1]))


def ports(packet: bytes) -> tuple[int, int]:
    """Source and target port of a TCP packet without IPv6 extension headers."""
    at = (packet[0] & 0x0F) * 4 if packet[0] >> 4 == 4 else 40
    source, target = struct.unpack_from(">HH", packet, at)
    return source, target
