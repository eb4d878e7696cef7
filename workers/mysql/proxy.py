"""The PROXY protocol, versions 1 and 2: what a load balancer says of its client before the client's own bytes.

haproxy.org/download/2.9/doc/proxy-protocol.txt. Once a connection, so clarity beats speed here.
"""

import ipaddress
import struct
from dataclasses import dataclass
from typing import Final

SIGNATURE_2: Final = b"\r\n\r\n\x00\r\nQUIT\n"
SIGNATURE_1: Final = b"PROXY "
_LONGEST_1: Final = 107  # section 2.1
_HEADER_2: Final = 16
_PROXY: Final = 0x21  # version 2, command PROXY
_IPV4: Final = 1
_IPV6: Final = 2
_IPV4_MAPPED: Final = 0xFFFF00000000
_HALF: Final = 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True, slots=True)
class Header:
    """A whole header: its length, and whom it names; *client* is None where it names nobody (LOCAL, UNKNOWN)."""

    length: int
    client: tuple[int, int, int] | None
    """Upper and lower half of the IPv6 address (IPv4 as ::ffff:a.b.c.d), port."""


def may_begin(data: bytes) -> bool:
    """Whether *data*, the first bytes of a client, can be a header or the beginning of one."""
    for signature in (SIGNATURE_1, SIGNATURE_2):
        size = min(len(data), len(signature))
        if data[:size] == signature[:size]:
            return True
    return False


def read(data: bytes) -> Header | None:
    """The header that *data* begins with, None while it is not whole. One that is malformed has length 0."""
    if data[: len(SIGNATURE_2)] == SIGNATURE_2:
        return _version_2(data)
    if data[: len(SIGNATURE_1)] == SIGNATURE_1:
        return _version_1(data)
    return None if may_begin(data) else Header(0, None)


def _version_1(data: bytes) -> Header | None:
    end = data.find(b"\r\n", 0, _LONGEST_1)
    if end < 0:
        return None if len(data) < _LONGEST_1 else Header(0, None)
    words = data[:end].split(b" ")
    if words[1] == b"UNKNOWN":
        return Header(end + 2, None)
    if len(words) != 6 or words[1] not in {b"TCP4", b"TCP6"}:
        return Header(0, None)
    try:
        address = ipaddress.ip_address(words[2].decode("ascii"))
        port = int(words[4])
    except ValueError:
        return Header(0, None)
    if not 0 <= port <= 0xFFFF:
        return Header(0, None)
    return Header(end + 2, (*_halves(address), port))


def _version_2(data: bytes) -> Header | None:
    if len(data) < _HEADER_2:
        return None
    command, family = data[12], data[13] >> 4
    length = _HEADER_2 + int.from_bytes(data[14:16], "big")
    if len(data) < length:
        return None
    if command == _PROXY and family == _IPV4 and length >= _HEADER_2 + 12:
        source, port = struct.unpack_from("!I4xH", data, _HEADER_2)
        return Header(length, (0, _IPV4_MAPPED | source, port))
    if command == _PROXY and family == _IPV6 and length >= _HEADER_2 + 36:
        high, low, port = struct.unpack_from("!QQ16xH", data, _HEADER_2)
        return Header(length, (high, low, port))
    return Header(length, None)


def _halves(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> tuple[int, int]:
    if address.version == 4:
        return 0, _IPV4_MAPPED | int(address)
    return int(address) >> 64, int(address) & _HALF
