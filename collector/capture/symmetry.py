"""Tries whether the kernel's fanout hash sends both directions of a connection to one socket, and not all to the same.

Some kernels' does not: 4.2 to 4.6 hashed each direction for itself, and until 6.6 an IPv6 packet with a flow label was
hashed by its addresses alone. Packets between addresses for documentation go over loopback to a hardware address that
nobody has: every packet socket could see them, and no IP layer takes them.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import Final

from collector.capture import bpf, sockets
from collector.capture.bpf import Assembler, Instruction

MEMBERS: Final = 2
CONNECTIONS: Final = 64
"""Of each of IPv4 and IPv6."""

_PORT: Final = 3306
FIRST_CLIENT_PORT: Final = 40_000
_ADDRESSES: Final = {
    4: tuple(socket.inet_aton(text) for text in ("198.51.100.1", "198.51.100.2")),  # RFC 5737
    6: tuple(socket.inet_pton(socket.AF_INET6, text) for text in ("2001:db8::1", "2001:db8::2")),  # RFC 3849
}
NETWORK: Final = int.from_bytes(_ADDRESSES[4][0], "big") & 0xFFFF_FF00
"""Of the IPv4 ones."""
PROTOCOLS: Final = {4: 0x0800, 6: 0x86DD}  # linux/if_ether.h
_OUTGOING: Final = 4
NOBODY: Final = b"\x02\0\0\0\0\x01"  # a locally administered address
_PATIENCE_S: Final = 1.0
_FLOW_LABEL: Final = 0x1234  # of a client; the server's is another

Seen = dict[tuple[int, int], set[int]]
"""By IP version and client port the sockets that saw a packet."""


def trial(join: Callable[[Sequence[int]], None]) -> str | None:
    """What is wrong with the hash of a group that *join* makes of sockets, or why it can't be tried; None: nothing."""
    fds: list[int] = []
    try:
        loopback = socket.if_nametoindex("lo")
        for _ in range(MEMBERS):
            fds.append(sockets.create())
            sockets.set_filter(fds[-1], _filter())
            sockets.bind(fds[-1], loopback)
        join(fds)
        _send()
        return verdict(*_receive(fds))
    except OSError as error:
        return f"the kernel's hash could not be tried over loopback ({error.strerror})"
    finally:
        for fd in fds:
            os.close(fd)


def verdict(packets: int, seen: Seen) -> str | None:
    """What is wrong where so many packets came, and who saw those of each connection."""
    if packets < 4 * CONNECTIONS:
        return f"the kernel's hash could not be tried over loopback ({packets} of {4 * CONNECTIONS} packets came)"
    if any(len(members) > 1 for members in seen.values()):
        return "this kernel's hash sends the two directions of a connection to different workers"
    for version in _ADDRESSES:
        if len({min(members) for (found, _), members in seen.items() if found == version}) < MEMBERS:
            return f"this kernel's hash sends all IPv{version} connections between two hosts to one worker"
    return None


def packet(version: int, port: int, *, to_server: bool) -> bytes:
    """A segment of a connection from a client's port, either way."""
    client, server = _ADDRESSES[version]
    ends, ports = ((client, server), (port, _PORT)) if to_server else ((server, client), (_PORT, port))
    segment = struct.pack(">2HIIBBHHH", *ports, 1, 1, 5 << 4, 0x10, 1024, 0, 0)
    if version == 4:
        return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), 1, 0, 64, 6, 0) + b"".join(ends) + segment
    label = _FLOW_LABEL if to_server else _FLOW_LABEL + 1
    return struct.pack(">IHBB", 6 << 28 | label, len(segment), 6, 64) + b"".join(ends) + segment


def _send() -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0) as sending:
        for version, protocol in PROTOCOLS.items():
            for number in range(CONNECTIONS):
                for to_server in (True, False):
                    data = packet(version, FIRST_CLIENT_PORT + number, to_server=to_server)
                    sending.sendto(data, ("lo", protocol, 0, 0, NOBODY))


def _receive(fds: Sequence[int]) -> tuple[int, Seen]:
    seen: Seen = {}
    packets = 0
    deadline = time.monotonic() + _PATIENCE_S
    while packets < 4 * CONNECTIONS and (left := deadline - time.monotonic()) > 0:
        for fd in select.select(fds, [], [], left)[0]:
            data = os.read(fd, 256)
            version = data[0] >> 4
            ports = struct.unpack_from(">2H", data, 20 if version == 4 else 40)
            seen.setdefault((version, max(ports)), set()).add(fd)
            packets += 1
    return packets, seen


def _filter() -> tuple[Instruction, ...]:
    """Passes what is between the addresses for documentation, once."""
    assembler = Assembler()
    assembler.load_half(bpf.PACKET_TYPE)
    assembler.jump_equal(_OUTGOING, yes="drop")
    assembler.load_half(bpf.PROTOCOL)
    assembler.jump_equal(PROTOCOLS[6], yes="IPv6")
    assembler.jump_equal(PROTOCOLS[4], no="drop")
    for at in (12, 16):
        assembler.load_word(at)
        assembler.keep_bits(0xFFFF_FF00)
        assembler.jump_equal(NETWORK, no="drop")
    assembler.give(0xFFFF)
    assembler.label("IPv6")
    for at in (8, 24):
        assembler.load_word(at)
        assembler.jump_equal(int.from_bytes(_ADDRESSES[6][0][:4], "big"), no="drop")
    assembler.give(0xFFFF)
    assembler.label("drop")
    assembler.give(0)
    return assembler.program()
