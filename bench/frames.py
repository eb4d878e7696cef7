"""Ethernet, IPv4 and TCP headers for generated traffic. Bytes only: nothing is sent here.

IPv4 header checksums are right; TCP checksums are zero, as a capture beside an offloading network card shows them.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from typing import Final

FIN: Final = 0x01
SYN: Final = 0x02
PSH: Final = 0x08
ACK: Final = 0x10

ETHERNET_BYTES: Final = 14
IP_BYTES: Final = 20
TCP_BYTES: Final = 32  # 20 and the timestamp option, which every Linux connection carries
HEADER_BYTES: Final = ETHERNET_BYTES + IP_BYTES + TCP_BYTES
SEQUENCE_AT: Final = ETHERNET_BYTES + IP_BYTES + 4  # sequence and acknowledgement number, 4 bytes each
MTU: Final = 1500
MOST_PAYLOAD_BYTES: Final = MTU - IP_BYTES - TCP_BYTES

_HEADER: Final = struct.Struct("!12sH BBHHHBBH4s4s HHIIBBHHH")
_DONT_FRAGMENT: Final = 0x4000
_WINDOW: Final = 501  # scaled by 128: the 64 KiB of a fresh Linux socket
_TIMESTAMPS: Final = b"\x01\x01\x08\x0a" + struct.pack("!II", 1_000_000, 1_000_000)  # RFC 7323, after two NOPs
# A SYN: MSS 1460, SACK permitted, timestamps, NOP, window scale 7 (the order Linux sends them in).
_SYN_OPTIONS: Final = b"\x02\x04\x05\xb4\x04\x02\x08\x0a" + struct.pack("!II", 1_000_000, 0) + b"\x01\x03\x03\x07"


@dataclass(frozen=True, slots=True)
class Address:
    """One end of a connection: MAC (6 bytes), IPv4 address in dotted form, TCP port."""

    mac: bytes
    ip: str
    port: int


def checksum(header: bytes) -> int:
    """The internet checksum (RFC 1071) of *header*, whose length is even; 0 when its checksum field is right."""
    total: int = sum(struct.unpack(f"!{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Path:
    """One direction of a connection: makes its frames."""

    def __init__(self, source: Address, target: Address) -> None:
        self._macs = target.mac + source.mac
        self._source_ip = socket.inet_aton(source.ip)
        self._target_ip = socket.inet_aton(target.ip)
        self._source_port = source.port
        self._target_port = target.port
        fixed = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 0, 0, _DONT_FRAGMENT, 64, 6, 0, self._source_ip, self._target_ip)
        self._fixed_sum = ~checksum(fixed) & 0xFFFF

    def frame(self, flags: int, sequence: int, acknowledged: int, payload: bytes = b"") -> bytes:
        """One frame; raises ValueError when it would not fit the MTU."""
        options = _SYN_OPTIONS if flags & SYN else _TIMESTAMPS
        length = IP_BYTES + 20 + len(options) + len(payload)
        if length > MTU:
            raise ValueError(f"a packet of {length} bytes is over the MTU of {MTU}")
        total = self._fixed_sum + length
        ip_checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
        header = _HEADER.pack(
            self._macs, 0x0800,
            0x45, 0, length, 0, _DONT_FRAGMENT, 64, 6, ip_checksum, self._source_ip, self._target_ip,
            self._source_port, self._target_port, sequence & 0xFFFFFFFF, acknowledged & 0xFFFFFFFF,
            (20 + len(options)) << 2, flags, _WINDOW, 0, 0,
        )  # fmt: skip
        return header + options + payload
