"""The ways in which packets get from the kernel to a worker, each with its ring: whichever it is, the same packets.

Each open() returns a socket that is bound to nothing yet. What a kernel refuses is a MethodError, after which another
method may be tried.
"""

from __future__ import annotations

import errno
import logging
import os
import select
import socket
import struct
from collections.abc import Callable
from typing import ClassVar, Final, Self

from collector.capture import mapping, rings
from collector.capture.gathering import SHORTEST_S
from collector.capture.sockets import (
    LEAST_BLOCKS,
    PACKET_VERSION,
    SOL_PACKET,
    KernelCounters,
    MethodError,
    PacketSocket,
    Shape,
    borrowed,
    create,
)
from workers.softring import SoftRing

# linux/if_packet.h and asm-generic/socket.h
_PACKET_RX_RING: Final = 5
_PACKET_AUXDATA: Final = 8
_TPACKET_V2: Final = 1
_TPACKET_V3: Final = 2
_SO_RCVBUFFORCE: Final = 33
_SO_TIMESTAMPNS: Final = 35
_SO_INCOMING_CPU: Final = 49

_V2_REQUEST: Final = struct.Struct("=4I")  # struct tpacket_req
_V3_REQUEST: Final = struct.Struct("=7I")  # struct tpacket_req3
_V3_FRAME_BYTES: Final = 2048  # checked by the kernel, not used by version 3 of the ring
_V2_FRAME_BYTES: Final = 69_904
"""A multiple of 16 that holds the largest packet but those of BIG TCP; 15 of them fit into a block of 1 MiB."""

_BUFFER_BYTES: Final = 8 << 20
_BYTES_A_PACKET: Final = 1200
"""What the kernel counts for a small one that waits in a socket."""

_REFUSALS: Final = frozenset({errno.EINVAL, errno.ENOPROTOOPT, errno.EOPNOTSUPP, errno.ENOSYS, errno.EPERM})

_ANOTHER: Final = 'let capture.method be "auto"'

_log = logging.getLogger(__name__)


class BlockRing(PacketSocket):
    """TPACKET_V3: the kernel fills blocks, and says so once a block."""

    METHOD = "ring"
    VERSION = _TPACKET_V3
    # Edge-triggered: poll() on such a ring is true for as long as its last block has not been given back.
    EVENTS: ClassVar[int] = select.EPOLLIN | select.EPOLLERR | select.EPOLLET

    @classmethod
    def open(cls, shape: Shape) -> Self:
        """As PacketSocket.open() says."""
        fd = create()
        try:
            _set_version(fd, cls.VERSION, "TPACKET_V3")
            frames, timeout = shape.block_bytes // _V3_FRAME_BYTES, shape.block_timeout_ms

            def request(blocks: int) -> bytes:
                return _V3_REQUEST.pack(shape.block_bytes, blocks, _V3_FRAME_BYTES, frames * blocks, timeout, 0, 0)

            return cls(fd, *_with_ring(fd, shape, request))
        except BaseException:
            os.close(fd)
            raise

    @classmethod
    def adopt(cls, fd: int, block_bytes: int, block_count: int) -> Self:
        """As PacketSocket.adopt() says."""
        return cls(fd, mapping.shared(block_bytes * block_count, fd), block_bytes, block_count)

    @classmethod
    def unsound(cls) -> str | None:
        """Why not, where the kernel is too old."""
        # Until 3.19 the kernel hands over empty blocks and wakes nobody for full ones. An option of sockets that came
        # with that version tells, also where a distribution's kernel has another number.
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.getsockopt(socket.SOL_SOCKET, _SO_INCOMING_CPU)
            except OSError:
                return "this kernel's TPACKET_V3 loses wake-ups (before 3.19)"
        return None

    def packets_waiting(self) -> int:
        """From the heads of the blocks."""
        return rings.waiting(self.memory, self.block_bytes, self.block_count)


class FrameRing(PacketSocket):
    """TPACKET_V2: each packet has a frame, all of one size; the ring fills with their number, not with their bytes."""

    METHOD = "ring-v2"
    VERSION = _TPACKET_V2
    frame_bytes = _V2_FRAME_BYTES

    @classmethod
    def open(cls, shape: Shape) -> Self:
        """As PacketSocket.open() says."""
        fd = create()
        try:
            _set_version(fd, cls.VERSION, "TPACKET_V2")
            frames = shape.block_bytes // _V2_FRAME_BYTES

            def request(blocks: int) -> bytes:
                return _V2_REQUEST.pack(shape.block_bytes, blocks, _V2_FRAME_BYTES, frames * blocks)

            opened = cls(fd, *_with_ring(fd, shape, request))
        except BaseException:
            os.close(fd)
            raise
        opened.room = frames * opened.block_count
        return opened

    @classmethod
    def adopt(cls, fd: int, block_bytes: int, block_count: int) -> Self:
        """As PacketSocket.adopt() says."""
        adopted = cls(fd, mapping.shared(block_bytes * block_count, fd), block_bytes, block_count)
        adopted.room = block_bytes // _V2_FRAME_BYTES * block_count
        return adopted

    def packets_waiting(self) -> int:
        """From the status of each frame."""
        return rings.frames_waiting(self.memory, self.block_bytes, self.frame_bytes)


class PlainSocket(PacketSocket):
    """No ring of the kernel's: capture itself takes packets from the socket and fills one."""

    METHOD = "socket"

    def __init__(self, fd: int, address: int, shape: Shape) -> None:
        super().__init__(fd, address, shape.block_bytes, shape.block_count)
        timeout_ns = shape.block_timeout_ms * 1_000_000
        self._timeout_s = shape.block_timeout_ms / 1000
        self._ring = SoftRing(fd, address, self.block_bytes, self.block_count, timeout_ns)
        self._in_kernel = 0
        """Packets that the socket was given and the ring was not, when the counters were last taken."""
        self._accepted = 0
        self._freezes = 0

    @classmethod
    def open(cls, shape: Shape) -> Self:
        """As PacketSocket.open() says."""
        fd = create()
        try:
            with borrowed(fd) as packet_socket:
                _refusable("receiving packets with their stamps", packet_socket, socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
                _refusable("receiving packets with their lengths", packet_socket, SOL_PACKET, _PACKET_AUXDATA, 1)
                room_bytes = _make_room(packet_socket)
            opened = cls(fd, mapping.shared(shape.block_bytes * shape.block_count), shape)
        except BaseException:
            os.close(fd)
            raise
        opened.room = room_bytes // _BYTES_A_PACKET
        return opened

    def take_counters(self) -> KernelCounters:
        """The kernel's counters; the ring's freezes are our own."""
        found = super().take_counters()
        self._accepted += found.passed - found.dropped
        freezes = self._ring.freezes
        taken = KernelCounters(found.passed, found.dropped, freezes - self._freezes)
        self._freezes = freezes
        return taken

    def packets_waiting(self) -> int:
        """In the socket, on the way, and in the ring."""
        in_socket = max(self._accepted - self._ring.received, 0)
        return in_socket + self._ring.waiting + rings.waiting(self.memory, self.block_bytes, self.block_count)

    def gather(self, now: float) -> bool:
        """Fill blocks; whether one was handed over."""
        return self._ring.gather(int(now * 1e9))

    def due(self, now: float) -> float | None:
        """When a block is to be handed over that is not full, or a full ring to be looked at again."""
        if self._ring.frozen:
            return now + self._timeout_s
        at_ns = self._ring.due_ns()
        return None if at_ns is None else at_ns / 1e9 + SHORTEST_S


METHODS: Final = (BlockRing, FrameRing, PlainSocket)
"""In the order in which they are tried: what costs least comes first."""


def _set_version(fd: int, version: int, name: str) -> None:
    with borrowed(fd) as packet_socket:
        _refusable(name, packet_socket, SOL_PACKET, PACKET_VERSION, version)


def _refusable(what: str, packet_socket: socket.socket, level: int, option: int, value: int | bytes) -> None:
    try:
        packet_socket.setsockopt(level, option, value)
    except OSError as error:
        if error.errno in _REFUSALS:
            raise MethodError(f"this kernel refuses {what}: {error.strerror}", _ANOTHER) from error
        raise


def _with_ring(fd: int, shape: Shape, request: Callable[[int], bytes]) -> tuple[int, int, int]:
    """Make the ring and map it: its address, bytes of a block, number of blocks granted."""
    block_count = shape.block_count
    with borrowed(fd) as packet_socket:
        while True:
            try:
                _refusable("a packet ring", packet_socket, SOL_PACKET, _PACKET_RX_RING, request(block_count))
                break
            except OSError as error:
                if error.errno != errno.ENOMEM:
                    raise
                if block_count == LEAST_BLOCKS:
                    message = f"the kernel has no memory for a ring of {LEAST_BLOCKS} blocks"
                    raise MethodError(message, "free memory, or let workers.count be smaller") from error
                block_count = max(block_count * 3 // 4, LEAST_BLOCKS)
    if block_count < shape.block_count:
        granted = block_count * shape.block_bytes / (1 << 20)
        _log.warning("the kernel granted a ring of %g MiB, not of %d (capture.ring_mib)", granted, shape.ring_mib)
    return mapping.shared(block_count * shape.block_bytes, fd), shape.block_bytes, block_count


def _make_room(packet_socket: socket.socket) -> int:
    """Let packets wait in the socket; how many bytes of them may, as the kernel counts."""
    try:
        packet_socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
    except PermissionError:  # it takes CAP_NET_ADMIN to have more than net.core.rmem_max
        packet_socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
    return packet_socket.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
