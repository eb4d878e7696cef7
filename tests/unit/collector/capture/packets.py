"""Packets as a SOCK_DGRAM packet socket has them: from the IP header on."""

from __future__ import annotations

import struct

CLIENT = 40000
SERVER = 3306

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10


def tcp(source: int, target: int, payload: bytes = b"", *, flags: int = ACK, options: bytes = b"") -> bytes:
    """A TCP segment."""
    assert len(options) % 4 == 0
    words = 5 + len(options) // 4
    return struct.pack(">HHIIBBHHH", source, target, 1, 1, words << 4, flags, 1024, 0, 0) + options + payload


def ipv4(
    transport: bytes, *, protocol: int = 6, options: bytes = b"", fragment: int = 0, length: int | None = None
) -> bytes:
    """An IPv4 packet; *fragment* is the field of flags and offset, *length* what it claims (None: the truth)."""
    assert len(options) % 4 == 0
    header = 20 + len(options)
    claimed = header + len(transport) if length is None else length
    fixed = struct.pack(">BBHHHBBH", 0x40 | header // 4, 0, claimed, 1, fragment, 64, protocol, 0)
    return fixed + bytes([10, 0, 0, 1, 10, 0, 0, 2]) + options + transport


def ipv6(transport: bytes, *, following: int = 6, extensions: bytes = b"", length: int | None = None) -> bytes:
    """An IPv6 packet; *following* is the next header of the fixed one."""
    claimed = len(extensions) + len(transport) if length is None else length
    return struct.pack(">IHBB", 6 << 28, claimed, following, 64) + bytes(32) + extensions + transport
