"""Netlink (netlink(7), linux/netlink.h): asks the kernel for a list, and takes what it says to pieces. Needs no right.

A netlink socket belongs to the network namespace in which it was made, for good.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from typing import Final

ROUTE: Final = 0  # NETLINK_ROUTE
SOCK_DIAG: Final = 4  # NETLINK_SOCK_DIAG

_HEADER: Final = struct.Struct("=IHHII")  # struct nlmsghdr: length, type, flags, sequence, port
_ATTRIBUTE: Final = struct.Struct("=HH")  # struct rtattr: length, type
_REQUEST_DUMP: Final = 0x001 | 0x300  # NLM_F_REQUEST | NLM_F_DUMP
_ERROR: Final = 2  # NLMSG_ERROR
_DONE: Final = 3  # NLMSG_DONE
_TYPE_BITS: Final = 0x3FFF  # NLA_TYPE_MASK: the two above are flags
_MOST_BYTES: Final = 1 << 16
_TIMEOUT_S: Final = 2.0  # the kernel answers at once, or not at all


def connect(protocol: int, groups: int = 0) -> socket.socket:
    """A socket to ask on; *groups*: what it is told of without asking. Raises OSError where the kernel has it not."""
    made = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
    try:
        made.bind((0, groups))
    except BaseException:
        made.close()
        raise
    made.settimeout(_TIMEOUT_S)
    return made


def dump(asked: socket.socket, kind: int, body: bytes) -> list[bytes]:
    """The bodies of all the kernel lists for one request. Raises OSError."""
    asked.send(_HEADER.pack(_HEADER.size + len(body), kind, _REQUEST_DUMP, 1, 0) + body)
    found: list[bytes] = []
    while True:
        for answer, content in messages(asked.recv(_MOST_BYTES)):
            if answer == _DONE:
                return found
            if answer == _ERROR:
                number = -int(struct.unpack_from("=i", content)[0])
                raise OSError(number, os.strerror(number))
            found.append(content)


def messages(data: bytes) -> list[tuple[int, bytes]]:
    """(type, body) of each message in what was received. Raises OSError where they are cut."""
    found: list[tuple[int, bytes]] = []
    at = 0
    while at < len(data):
        if len(data) - at < _HEADER.size:
            raise OSError(errno.EBADMSG, "a netlink message is cut")
        length, kind, _, _, _ = _HEADER.unpack_from(data, at)
        if not _HEADER.size <= length <= len(data) - at:
            raise OSError(errno.EBADMSG, "a netlink message is cut")
        found.append((kind, data[at + _HEADER.size : at + length]))
        at += -(-length // 4) * 4
    return found


def attributes(data: bytes) -> dict[int, bytes]:
    """Attributes by type; what is cut at the end is left out."""
    found: dict[int, bytes] = {}
    at = 0
    while at + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        if not _ATTRIBUTE.size <= length <= len(data) - at:
            break
        found[kind & _TYPE_BITS] = data[at + _ATTRIBUTE.size : at + length]
        at += -(-length // 4) * 4
    return found
