"""AF_PACKET sockets, whatever way packets leave them: how one is made and bound, and what all of them do.

Blocking: none. Ownership: a PacketSocket owns its fd and its mapping until close(); both are plain numbers.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import socket
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from collector.capture import bpf, mapping
from collector.capture import filter as packet_filter
from collector.capture.interfaces import InterfaceError
from collector.config import StartError

# linux/if_packet.h and asm-generic/socket.h
SOL_PACKET: Final = 263
_PACKET_STATISTICS: Final = 6
_SO_ATTACH_FILTER: Final = 26
PACKET_VERSION: Final = 10
PACKET_FANOUT: Final = 18
_SO_DOMAIN: Final = 39
_SO_COOKIE: Final = 57
_ETH_P_ALL: Final = 3  # ETH_P_IP would never show a packet on its way out

_STATISTICS: Final = struct.Struct("=3I")  # struct tpacket_stats_v3; before version 3 it ends after two
_COOKIE: Final = struct.Struct("=Q")
_ADDRESS: Final = struct.Struct("=HHiHBB8s")  # struct sockaddr_ll

LEAST_BLOCKS: Final = 2

_libc: Final = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class KernelCounters:
    """What was counted since it was last asked; asking sets the kernel's to zero."""

    passed: int
    dropped: int
    freezes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How much memory a worker reads from, and how long a block of it waits to be filled."""

    ring_mib: int
    block_kib: int = 1024
    """Frames larger than a block are cut, so the default holds the largest there is (BIG TCP, 512 KiB)."""
    block_timeout_ms: int

    @property
    def block_bytes(self) -> int:
        """Of one block."""
        return self.block_kib << 10

    @property
    def block_count(self) -> int:
        """Blocks asked for."""
        return max((self.ring_mib << 10) // self.block_kib, LEAST_BLOCKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the kernel says of a socket."""

    domain: int
    """Its address family."""
    cookie: int
    """By which it is told from all others since boot; 0 before 4.12."""
    version: int
    """Of its ring's interface."""
    fanout: int
    """Number, kind and flags of its group; 0 of none."""
    interface: int
    """Index of the one that it is bound to, 0 for all, -1 when that is gone."""


class MethodError(StartError):
    """The kernel refuses a method, or has no memory for it. Another one may do."""


class PacketSocket(ABC):
    """One socket, and the memory from which its worker reads.

    Forked processes do not inherit the memory unless inheritable() says so.
    """

    METHOD: ClassVar[str]
    """What capture.method calls it."""
    VERSION: ClassVar[int | None] = None
    """What PACKET_VERSION says of it; None where its memory is not the kernel's, and ends with the process."""
    EVENTS: ClassVar[int] = select.EPOLLIN | select.EPOLLERR | select.EPOLLONESHOT
    """What epoll is to say of the fd; what it says only once is asked for again after gather()."""
    room = 0
    """Small packets that can gather in the kernel before anybody looks; 0: a worker is woken at once."""
    frame_bytes = 0
    """Where each packet has a place of its own: how large that is. 0: a block holds packets one behind the other."""

    def __init__(self, fd: int, address: int, block_bytes: int, block_count: int) -> None:
        self.fd = fd
        self.address = address
        self.block_bytes = block_bytes
        self.block_count = block_count

    @property
    def ring_bytes(self) -> int:
        """Size of the mapping."""
        return self.block_count * self.block_bytes

    @property
    def memory(self) -> memoryview:
        """The mapping."""
        return memoryview((ctypes.c_char * self.ring_bytes).from_address(self.address)).cast("B")

    def take_counters(self) -> KernelCounters:
        """The counters since the last call. It must have one caller only."""
        with borrowed(self.fd) as packet_socket:
            found = packet_socket.getsockopt(SOL_PACKET, _PACKET_STATISTICS, _STATISTICS.size)
        return KernelCounters(*_STATISTICS.unpack(found.ljust(_STATISTICS.size, b"\0")))

    def take_error(self) -> int:
        """The pending error, 0 for none; while it is not taken, poll() returns at once."""
        return take_error(self.fd)

    def set_filter(self, program: Sequence[bpf.Instruction]) -> None:
        """Swap the filter: each packet meets either the old one or the new one, whole."""
        set_filter(self.fd, program)

    def inheritable(self, whether: bool) -> None:
        """Let the next fork have the memory, or not."""
        mapping.inheritable(self.address, self.ring_bytes, whether=whether, fd=self.fd)

    @classmethod
    @abstractmethod
    def open(cls, shape: Shape) -> Self:
        """A socket with its memory, bound to nothing. MethodError: the kernel refuses it, or has no memory for it."""

    @classmethod
    def adopt(cls, fd: int, block_bytes: int, block_count: int) -> Self:
        """The socket that open() made in an earlier process, with its memory; takes *fd* over. Raises OSError.

        ValueError of a method whose memory is the process's own, and ends with it.
        """
        del fd, block_bytes, block_count
        raise ValueError(f"the memory of method {cls.METHOD} is the process's own")

    @classmethod
    def unsound(cls) -> str | None:
        """Why this method is not to be trusted on this kernel, None where it is."""
        return None

    @abstractmethod
    def packets_waiting(self) -> int:
        """Packets that nobody has taken; to be asked right after take_counters()."""

    def gather(self, now: float) -> bool:
        """Do what is due at *now* (CLOCK_MONOTONIC); whether the worker has something to look at."""
        del now
        return True

    def due(self, now: float) -> float | None:
        """When gather() is to be called whatever epoll says; None: not before."""
        del now
        return None

    def close(self) -> None:
        """Give fd and mapping back. A member that leaves moves the others' connections: close the whole group only."""
        mapping.release(self.address, self.ring_bytes)
        os.close(self.fd)


class borrowed:  # noqa: N801  # used like a function
    """A socket object around an fd that it does not close."""

    def __init__(self, fd: int) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0, fileno=fd)

    def __enter__(self) -> socket.socket:
        return self._socket

    def __exit__(self, *_: object) -> None:
        self._socket.detach()


def create() -> int:
    """The fd of a socket that nothing reaches yet: protocol 0 hooks it nowhere, and its filter drops all."""
    try:
        fd = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, 0).detach()
    except PermissionError:
        raise StartError(
            "capturing packets needs the capability CAP_NET_RAW",
            "run as root (sudo querytap run), or give the capability to the service (AmbientCapabilities=CAP_NET_RAW)",
        ) from None
    try:
        set_filter(fd, packet_filter.drop_all())
    except BaseException:
        os.close(fd)
        raise
    return fd


def set_filter(fd: int, program: Sequence[bpf.Instruction]) -> None:
    """Attach a filter in place of the one before."""
    with borrowed(fd) as packet_socket, bpf.in_memory(program) as request:
        packet_socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, request)


def facts(fd: int) -> Facts:
    """What a socket is. Raises OSError where it is none."""
    with borrowed(fd) as packet_socket:
        return Facts(
            domain=packet_socket.getsockopt(socket.SOL_SOCKET, _SO_DOMAIN),
            cookie=_cookie(packet_socket),
            version=packet_socket.getsockopt(SOL_PACKET, PACKET_VERSION),
            fanout=packet_socket.getsockopt(SOL_PACKET, PACKET_FANOUT),
            interface=_interface(fd),
        )


def _cookie(packet_socket: socket.socket) -> int:
    try:
        found = packet_socket.getsockopt(socket.SOL_SOCKET, _SO_COOKIE, _COOKIE.size)
    except OSError as error:
        if error.errno != errno.ENOPROTOOPT:  # before 4.12
            raise
        return 0
    return int(_COOKIE.unpack(found)[0])


def _interface(fd: int) -> int:
    address = ctypes.create_string_buffer(_ADDRESS.size)
    length = ctypes.c_uint32(_ADDRESS.size)
    if _libc.getsockname(fd, address, ctypes.byref(length)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"getsockname of a packet socket: {os.strerror(number)}")
    return int(_ADDRESS.unpack(address.raw)[2])


def take_error(fd: int) -> int:
    """SO_ERROR."""
    with borrowed(fd) as packet_socket:
        return packet_socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)


def bind(fd: int, interface: int) -> None:
    """Let packets of an interface (0: all) in; its filter and its memory must be there. InterfaceError: it is gone."""
    # socket.bind takes a name, and none stands for all interfaces.
    address = _ADDRESS.pack(socket.AF_PACKET, socket.htons(_ETH_P_ALL), interface, 0, 0, 0, b"")
    if _libc.bind(fd, address, len(address)) != 0:
        number = ctypes.get_errno()
        if interface and number in {errno.ENODEV, errno.ENXIO}:
            raise InterfaceError("the interface went while it was opened", "look for it with: ip link")
        raise OSError(number, f"bind of a packet socket: {os.strerror(number)}")
    take_error(fd)  # ENETDOWN of an interface that is down: its packets come when it is up
