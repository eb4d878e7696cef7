"""Which TCP ports are listened on in a network namespace, and by which user: sock_diag(7). Needs no right.

Unlike /proc/net/tcp it lists the listening sockets alone, however many connections there are; and /proc/PID, which
hidepid (proc(5)) hides from others, is not looked at.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from collector.capture import netlink

_BY_FAMILY: Final = 20  # SOCK_DIAG_BY_FAMILY, linux/sock_diag.h
_LISTEN: Final = 10  # TCP_LISTEN, net/tcp_states.h
_REQUEST: Final = struct.Struct("=BBBxI48x")  # struct inet_diag_req_v2: family, protocol, extensions, states, socket
_PORT: Final = struct.Struct(">H")
_PORT_AT: Final = 4  # struct inet_diag_msg
_OWNER: Final = struct.Struct("=II")  # user, inode
_OWNER_AT: Final = 64
_LISTEN_IN_TABLE: Final = "0A"


@dataclass(frozen=True, slots=True)
class Listener:
    """A socket that takes connections."""

    port: int
    uid: int
    """Who made it."""
    inode: int
    """By which /proc/PID/fd names it."""


class Listeners:
    """The listening sockets of the network namespace in which this was made, whatever rights are given up later.

    Where the kernel has no sock_diag for TCP, they are those of the namespace that the process is in.
    """

    def __init__(self) -> None:
        self._asked: socket.socket | None = None
        try:
            self._asked = netlink.connect(netlink.SOCK_DIAG)
            self._ask(self._asked)
        except OSError:
            self.close()

    @property
    def asked(self) -> socket.socket | None:
        """The sock_diag socket of the namespace, for those who ask for other things; None where there is none."""
        return self._asked

    def now(self) -> frozenset[Listener]:
        """All there are. Raises OSError."""
        return self._ask(self._asked) if self._asked is not None else _from_tables()

    def close(self) -> None:
        """Ask nothing more over the socket."""
        if self._asked is not None:
            self._asked.close()
            self._asked = None

    @staticmethod
    def _ask(asked: socket.socket) -> frozenset[Listener]:
        found: set[Listener] = set()
        for family in (socket.AF_INET, socket.AF_INET6):
            request = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, 1 << _LISTEN)
            found.update(map(_listener, netlink.dump(asked, _BY_FAMILY, request)))
        return frozenset(found)


def in_table(table: str) -> frozenset[Listener]:
    """The listening sockets in the text of /proc/net/tcp or tcp6 (proc(5))."""
    found: set[Listener] = set()
    for line in table.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and fields[3] == _LISTEN_IN_TABLE:
            found.add(Listener(int(fields[1].rpartition(":")[2], 16), int(fields[7]), int(fields[9])))
    return frozenset(found)


def _listener(message: bytes) -> Listener:
    uid, inode = _OWNER.unpack_from(message, _OWNER_AT)
    return Listener(_PORT.unpack_from(message, _PORT_AT)[0], uid, inode)


def _from_tables() -> frozenset[Listener]:
    tables = (Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6"))  # no tcp6 where IPv6 is off
    return frozenset().union(*(in_table(table.read_text(encoding="ascii")) for table in tables if table.exists()))
