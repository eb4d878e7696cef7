"""One group of sockets, over whose members the kernel spreads connections: both directions of each to one of them."""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Sequence
from typing import Final

from collector.capture import bpf, connection, sockets, symmetry
from collector.capture.interfaces import InterfaceError
from collector.capture.sockets import PACKET_FANOUT, SOL_PACKET, borrowed
from collector.config import StartError

AUTO: Final = "auto"
HASH: Final = "hash"
CBPF: Final = "cbpf"

# linux/if_packet.h
_PACKET_FANOUT_DATA: Final = 22
_KINDS: Final = {HASH: 0, CBPF: 6}
_UNIQUE_ID: Final = 0x2000
_DEFRAGMENT: Final = 0x8000

_ARGUMENTS: Final = struct.Struct("=2HI")  # struct fanout_args: id, kind and flags, most members
_DOWN: Final = frozenset({errno.EINVAL, errno.ENODEV, errno.ENXIO, errno.ENETDOWN})


def join(fds: Sequence[int], interface: int, kind: str = HASH, *, defragment: bool = False) -> None:
    """Put all into one group that no other program is in, or can be.

    The kernel picks its number (4.12 and later) and takes no more members than these (5.10 and later). Raises
    InterfaceError where the kernel wants the interface to be up.
    """
    flags = _KINDS[kind] | (_DEFRAGMENT if defragment else 0)
    try:
        _join(fds, flags)
        if kind == CBPF:
            with borrowed(fds[0]) as member, bpf.in_memory(connection.spread()) as request:
                member.setsockopt(SOL_PACKET, _PACKET_FANOUT_DATA, request)
    except OSError as error:
        # Before 6.13 a kernel takes no socket into a group while its interface is down.
        if interface and error.errno in _DOWN:
            message = "the kernel groups no sockets on an interface that is down"
            raise InterfaceError(message, "ip link set INTERFACE up, or set workers.count to 1") from error
        if kind == CBPF and error.errno == errno.EINVAL:
            message = "this kernel cannot spread connections by a program (before 4.3)"
            raise StartError(message, 'let capture.fanout be "hash"') from error
        raise


def choose(wanted: str) -> tuple[str, str]:
    """HASH or CBPF for *wanted*, which may be AUTO; and why, as a sentence for people."""
    if wanted != AUTO:
        return wanted, f"fanout {wanted}, as capture.fanout says"
    found = symmetry.trial(lambda fds: join(fds, 0))
    if found is None:
        return HASH, "fanout hash: tried with both directions of 128 connections, each met itself"
    if not _takes_programs():
        return HASH, f"fanout hash, for want of a better one, though {found}: statements may have no status"
    return CBPF, f"fanout cbpf, as {found}"


def _takes_programs() -> bool:
    fd = sockets.create()
    try:
        sockets.bind(fd, 0)
        join([fd], 0, CBPF)
    except StartError:
        return False
    finally:
        os.close(fd)
    return True


def _join(fds: Sequence[int], flags: int) -> None:
    first, *others = fds
    with borrowed(first) as packet_socket:
        most = _found_group(packet_socket, flags, len(fds))
        identifier = packet_socket.getsockopt(SOL_PACKET, PACKET_FANOUT) & 0xFFFF
    for one in others:
        with borrowed(one) as member:
            member.setsockopt(SOL_PACKET, PACKET_FANOUT, _arguments(identifier, flags, most))


def _found_group(packet_socket: socket.socket, flags: int, members: int) -> int:
    """Found a group with a number of its own; the most members it was told to take, 0 where the kernel takes any."""
    attempts = ((0, flags | _UNIQUE_ID, members), (0, flags | _UNIQUE_ID, 0), (os.getpid() & 0xFFFF, flags, 0))
    for identifier, kind, most in attempts:
        try:
            packet_socket.setsockopt(SOL_PACKET, PACKET_FANOUT, _arguments(identifier, kind, most))
        except OSError as error:
            if error.errno != errno.EINVAL or (identifier, kind, most) == attempts[-1]:
                raise
        else:
            return most
    raise AssertionError("the last attempt returns or raises")


def _arguments(identifier: int, kind: int, most: int) -> bytes:
    packed = _ARGUMENTS.pack(identifier, kind, most)
    return packed if most else packed[:4]  # as it was before 5.10
