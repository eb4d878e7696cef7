"""What carries packets: Ethernet, tunnels, and fragments of IP datagrams."""

from __future__ import annotations

import struct

from tests.support.packets import ipv4

VXLAN_PORT = 4789
IPV4_TYPE, IPV6_TYPE, VLAN_TYPE, SERVICE_VLAN_TYPE, BRIDGED_TYPE = 0x0800, 0x86DD, 0x8100, 0x88A8, 0x6558
IPV4_INSIDE, UDP, IPV6_INSIDE, FRAGMENT_HEADER, GRE = 4, 17, 41, 44, 47


def ether_type(packet: bytes) -> int:
    """Of an IP packet."""
    return IPV6_TYPE if packet[0] >> 4 == 6 else IPV4_TYPE


def ethernet(packet: bytes, *tags: int, kind: int | None = None) -> bytes:
    """An Ethernet frame, with a VLAN tag for each EtherType in *tags*."""
    vlans = b"".join(struct.pack(">HH", tag, 100 + number) for number, tag in enumerate(tags))
    return b"\x02\0\0\0\0\x01" + b"\x02\0\0\0\0\x02" + vlans + struct.pack(">H", kind or ether_type(packet)) + packet


def vxlan(packet: bytes, *tags: int, port: int = VXLAN_PORT, flags: int = 0x08) -> bytes:
    """A UDP datagram with a VXLAN header (RFC 7348) and a frame."""
    frame = struct.pack(">B3xI", flags, 42 << 8) + ethernet(packet, *tags)
    return struct.pack(">HHHH", 51000, port, (8 + len(frame)) & 0xFFFF, 0) + frame


def gre(packet: bytes, *, flags: int = 0, kind: int | None = None) -> bytes:
    """A GRE header (RFC 2784, RFC 2890) with what its flags ask for, and *packet*."""
    optional = b"\xaa" * (4 * (bool(flags & 0x8000) + bool(flags & 0x2000) + bool(flags & 0x1000)))
    return struct.pack(">HH", flags, kind or ether_type(packet)) + optional + packet


def in_tunnel(name: str, packet: bytes) -> bytes:
    """*packet* in an IPv4 packet of another pair of hosts."""
    body, protocol = packet, IPV6_INSIDE if packet[0] >> 4 == 6 else IPV4_INSIDE
    if name == "vxlan":
        body, protocol = vxlan(packet), UDP
    elif name == "gre":
        body, protocol = gre(packet), GRE
    return ipv4(body, protocol=protocol, source="192.0.2.1", target="192.0.2.2")


def fragments(packet: bytes, size: int, *, identification: int = 7) -> list[bytes]:
    """An IPv4 or IPv6 packet of tests.support.packets, without options, in fragments of *size* bytes of its body."""
    assert size % 8 == 0
    body = packet[20:] if packet[0] >> 4 == 4 else packet[40:]
    return [
        fragment(packet, body[at : at + size], at, more=at + size < len(body), identification=identification)
        for at in range(0, len(body), size)
    ]


def fragment(packet: bytes, piece: bytes, offset: int, *, more: bool, identification: int = 7) -> bytes:
    """One fragment: *piece* of the body of *packet*, which lies at *offset* of it."""
    assert offset % 8 == 0
    if packet[0] >> 4 == 4:
        place = offset // 8 | (0x2000 if more else 0)
        head = packet[:2] + struct.pack(">HHH", 20 + len(piece), identification, place) + packet[8:20]
        return head + piece
    header = struct.pack(">BxHI", packet[6], offset | more, identification)
    return packet[:4] + struct.pack(">HB", 8 + len(piece), FRAGMENT_HEADER) + packet[7:40] + header + piece
