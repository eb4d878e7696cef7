"""Packets as a cooked packet socket has them (from the IP header on), and what carries them: rings and capture files.

Every length that a header claims can be overridden, so that packets which lie are made here too.
"""

from __future__ import annotations

import ctypes
import ipaddress
import struct
from collections.abc import Sequence
from typing import NamedTuple

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10  # RFC 9293 section 3.1

CLIENT = "10.0.0.1"
SERVER = "10.0.0.2"
CLIENT_PORT = 40000
SERVER_PORT = 3306


# --- packets


def tcp(
    payload: bytes = b"",
    *,
    source: int = CLIENT_PORT,
    target: int = SERVER_PORT,
    sequence: int = 1,
    acknowledgment: int = 1,
    flags: int = ACK,
    options: bytes = b"",
) -> bytes:
    """A TCP segment (RFC 9293 section 3.1); sequence numbers wrap."""
    assert len(options) % 4 == 0
    words = 5 + len(options) // 4
    numbers = (sequence & 0xFFFFFFFF, acknowledgment & 0xFFFFFFFF)
    return struct.pack(">HHIIBBHHH", source, target, *numbers, words << 4, flags, 1024, 0, 0) + options + payload


def ipv4(
    transport: bytes,
    *,
    source: str = CLIENT,
    target: str = SERVER,
    protocol: int = 6,
    options: bytes = b"",
    fragment: int = 0,
    length: int | None = None,
) -> bytes:
    """An IPv4 packet (RFC 791); *fragment* is the field of flags and offset, *length* what it claims (None: true)."""
    assert len(options) % 4 == 0
    header = 20 + len(options)
    claimed = _claim(header + len(transport)) if length is None else length
    fixed = struct.pack(">BBHHHBBH", 0x40 | header // 4, 0, claimed, 1, fragment, 64, protocol, 0)
    return fixed + _address(source) + _address(target) + options + transport


def ipv6(
    transport: bytes,
    *,
    source: str = "fd00::1",
    target: str = "fd00::2",
    following: int = 6,
    extensions: bytes = b"",
    length: int | None = None,
) -> bytes:
    """An IPv6 packet (RFC 8200); *following* is the next header of the fixed one, *length* what it claims."""
    claimed = _claim(len(extensions) + len(transport)) if length is None else length
    fixed = struct.pack(">IHBB", 6 << 28, claimed, following, 64)
    return fixed + _address(source) + _address(target) + extensions + transport


def extension(following: int, size: int = 8) -> bytes:
    """An IPv6 extension header of *size* bytes in all, before the header *following* (RFC 8200 section 4)."""
    assert size % 8 == 0
    return bytes([following, size // 8 - 1]) + bytes(size - 2)


def _claim(length: int) -> int:
    """What the header says of a length: 0 where it does not fit (BIG TCP)."""
    return length if length <= 0xFFFF else 0


def _address(text: str) -> bytes:
    return ipaddress.ip_address(text).packed


class Connection:
    """Both ends of a TCP connection; each call gives the next packet in order, to be sent, held back or lost.

    ``client_next`` and ``server_next`` are the next sequence numbers and may be set.
    """

    def __init__(
        self,
        *,
        client: str = CLIENT,
        client_port: int = CLIENT_PORT,
        server: str = SERVER,
        server_port: int = SERVER_PORT,
        client_first: int = 1000,
        server_first: int = 5000,
    ) -> None:
        self._client = (client, client_port)
        self._server = (server, server_port)
        self.client_port = client_port
        self.client_next = client_first
        self.server_next = server_first

    def open(self) -> list[bytes]:
        """The three packets of the handshake."""
        syn = self.client(flags=SYN)
        answer = self.server(flags=SYN | ACK)
        return [syn, answer, self.client()]

    def client(self, payload: bytes = b"", *, flags: int = ACK) -> bytes:
        """The client's next packet."""
        packet = _between(self._client, self._server, payload, self.client_next, self.server_next, flags)
        self.client_next = _behind(self.client_next, payload, flags)
        return packet

    def server(self, payload: bytes = b"", *, flags: int = ACK) -> bytes:
        """The server's next packet."""
        packet = _between(self._server, self._client, payload, self.server_next, self.client_next, flags)
        self.server_next = _behind(self.server_next, payload, flags)
        return packet


def _between(
    source: tuple[str, int], target: tuple[str, int], payload: bytes, sequence: int, acknowledgment: int, flags: int
) -> bytes:
    segment = tcp(
        payload, source=source[1], target=target[1], sequence=sequence, acknowledgment=acknowledgment, flags=flags
    )
    wrap = ipv6 if ":" in source[0] else ipv4
    return wrap(segment, source=source[0], target=target[0])


def _behind(sequence: int, payload: bytes, flags: int) -> int:
    """SYN and FIN take a sequence number each (RFC 9293 section 3.4)."""
    return (sequence + len(payload) + bool(flags & SYN) + bool(flags & FIN)) & 0xFFFFFFFF


class Captured(NamedTuple):
    """A packet as it was captured; *wire_length* is None where all of it was."""

    data: bytes
    time_ns: int = 0
    wire_length: int | None = None

    @property
    def length(self) -> int:
        """How long it was on the wire."""
        return len(self.data) if self.wire_length is None else self.wire_length


# --- rings: struct tpacket_block_desc and struct tpacket3_hdr, linux/if_packet.h

TO_USER, TO_KERNEL = 1, 0
BLOCK_HEADER = 48
FRAME_HEADER = 48
"""Of a frame in a block of block(): where its packet begins."""


def block(
    packets: Sequence[Captured], *, sequence: int = 1, count: int | None = None, first: int | None = None
) -> bytes:
    """A block that the kernel has filled; *count* and *first* are what it claims (None: the truth)."""
    frames = bytearray()
    for index, packet in enumerate(packets):
        size = _aligned(FRAME_HEADER + len(packet.data))
        frames += frame(packet, step=0 if index == len(packets) - 1 else size).ljust(size, b"\0")
    return (
        struct.pack(
            "=IIIIIIQIIII",
            3,  # TPACKET_V3
            0,
            TO_USER,
            len(packets) if count is None else count,
            BLOCK_HEADER if first is None else first,
            BLOCK_HEADER + len(frames),
            sequence,
            *(0, 0, 0, 0),  # time of the first and the last packet
        )
        + frames
    )


def frame(packet: Captured, *, step: int, captured: int | None = None, at: int = FRAME_HEADER) -> bytes:
    """A packet behind its header: *step* leads to the next header, *captured* and *at* tell its size and place."""
    header = struct.pack(
        "=IIIIIIHHIIHH8x",
        step,
        packet.time_ns // 1_000_000_000,
        packet.time_ns % 1_000_000_000,
        len(packet.data) if captured is None else captured,
        packet.length,
        TO_USER,
        at,
        at,
        *(0, 0, 0, 0),  # hash, VLAN tag, VLAN type, padding
    )
    return header + packet.data


def _aligned(size: int) -> int:
    return (size + 7) & ~7


class RingMemory:
    """The memory of a ring, in which the caller plays the kernel."""

    def __init__(self, block_bytes: int = 4096, block_count: int = 4) -> None:
        self.block_bytes = block_bytes
        self.block_count = block_count
        self._memory = ctypes.create_string_buffer(block_bytes * block_count)
        self.address = ctypes.addressof(self._memory)
        self._sequence = 0
        self._next = 0

    def put(self, packets: Sequence[Captured]) -> int:
        """Fill the next block as the kernel does; its index."""
        index = self._next
        assert not self.ready(index), "the ring is full"
        self._sequence += 1
        self._next = (index + 1) % self.block_count
        self.write(index, block(packets, sequence=self._sequence))
        return index

    def write(self, index: int, content: bytes) -> None:
        """Put any bytes at the beginning of a block."""
        assert len(content) <= self.block_bytes
        ctypes.memmove(self.address + index * self.block_bytes, content, len(content))

    def ready(self, index: int) -> bool:
        """Whether the block is the reader's, and not the kernel's."""
        word = ctypes.c_uint32.from_address(self.address + index * self.block_bytes + 8)
        return bool(word.value & TO_USER)


# --- capture files: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng

NULL, ETHERNET, RAW, SLL, SLL2 = 0, 1, 101, 113, 276  # tcpdump.org/linktypes.html


def pcap(packets: Sequence[Captured], *, order: str = "<", nanoseconds: bool = False, link: int = RAW) -> bytes:
    """A pcap file."""
    magic, unit = (0xA1B23C4D, 1) if nanoseconds else (0xA1B2C3D4, 1000)
    parts = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 0x40000, link)]
    for packet in packets:
        seconds, rest = divmod(packet.time_ns, 1_000_000_000)
        parts += [struct.pack(f"{order}IIII", seconds, rest // unit, len(packet.data), packet.length), packet.data]
    return b"".join(parts)


def pcapng(packets: Sequence[Captured], *, order: str = "<", link: int = RAW, options: bytes = b"") -> bytes:
    """A pcapng file of one section and one interface, which has *options*; without any, time is in microseconds."""
    return (
        pcapng_section(order)
        + pcapng_interface(order, link, options)
        + b"".join(pcapng_packet(order, packet) for packet in packets)
    )


def pcapng_section(order: str = "<") -> bytes:
    """A Section Header Block."""
    return pcapng_block(order, 0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))


def pcapng_interface(order: str = "<", link: int = RAW, options: bytes = b"") -> bytes:
    """An Interface Description Block."""
    return pcapng_block(order, 1, struct.pack(f"{order}HHI", link, 0, 0) + options)


def pcapng_packet(order: str, packet: Captured, *, interface: int = 0, ticks: int | None = None) -> bytes:
    """An Enhanced Packet Block; *ticks* is its time in the interface's units (None: microseconds)."""
    ticks = packet.time_ns // 1000 if ticks is None else ticks
    fixed = struct.pack(f"{order}IIIII", interface, ticks >> 32, ticks & 0xFFFFFFFF, len(packet.data), packet.length)
    return pcapng_block(order, 6, fixed + packet.data)


def pcapng_block(order: str, kind: int, body: bytes) -> bytes:
    """Any block: its type, its length, *body* padded to words, and its length again."""
    body += bytes(-len(body) % 4)
    total = 12 + len(body)
    return struct.pack(f"{order}II", kind, total) + body + struct.pack(f"{order}I", total)


def pcapng_option(order: str, code: int, value: bytes) -> bytes:
    """An option of a block, padded to words."""
    return struct.pack(f"{order}HH", code, len(value)) + value + bytes(-len(value) % 4)
