"""How much of what servers are sent is captured, while some of it is left out: by what their own sockets count.

sock_diag(7) lists the connections to a port with what TCP knows of each (struct tcp_info), and needs no right for that.
Which connections the filter lets pass follows from their addresses and ports, so both sums are of the same figures.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from collector.capture import connection, netlink

_BY_FAMILY: Final = 20  # SOCK_DIAG_BY_FAMILY, linux/sock_diag.h
_ESTABLISHED, _CLOSE_WAIT = 1, 8  # net/tcp_states.h
_INFO: Final = 2  # INET_DIAG_INFO, linux/inet_diag.h
_REQUEST: Final = struct.Struct("=BBBxI")  # struct inet_diag_req_v2: family, protocol, extensions, states
_SOCKET: Final = struct.Struct(">H46x")  # struct inet_diag_sockid, of which only the server's port is asked for
_IDENTITY: Final = slice(4, 40)  # of struct inet_diag_msg: both ports and addresses
_PORTS: Final = struct.Struct(">2H")
_MESSAGE_BYTES: Final = 72
_DATA_SEGMENTS_IN: Final = struct.Struct("=I")
_DATA_SEGMENTS_IN_AT: Final = 152  # tcpi_data_segs_in, linux/tcp.h; since Linux 4.6
_U32: Final = 0xFFFF_FFFF

_EVERY_S: Final = 5.0
_COST: Final = 400
"""So many times as long as a look took passes until the next one."""


class Counted(NamedTuple):
    """Sums since the first look, and connections as of now."""

    kept: int
    all: int
    kept_connections: int
    connections: int


class Connection(NamedTuple):
    """One connection to a server, as its socket has it."""

    identity: bytes
    number: int
    """By which the filter chooses, below 65536."""
    segments: int
    """With data, that came."""


class Reach:
    """Adds up segments with data of connections that are captured, and of all, in the network namespace of *asked*.

    Promise: a look costs no more than 1/400 of the time; connections that begin and end between two are not seen.
    """

    def __init__(self, asked: socket.socket | None) -> None:
        """*asked*: a sock_diag socket that somebody else closes; None: the kernel has none, and nothing is told."""
        self._asked = asked
        self._ports: Sequence[int] = ()
        self._share = 1.0
        self._before: dict[bytes, int] | None = None
        self._kept = self._all = 0
        self._counted: Counted | None = None
        self._due_s = 0.0

    def choose(self, ports: Sequence[int], share: float, now_s: float) -> None:
        """From here on this share of the connections to *ports* is captured; 1.0: there is nothing to look for."""
        if self._before is not None:
            self._look(now_s)
        self._ports, self._share = ports, share
        if share >= 1.0:
            self._before = None
        elif self._before is None:
            self._look(now_s)

    def look(self, now_s: float) -> Counted | None:
        """The sums, not older than a look is cheap; None while all is captured, or where the kernel does not tell."""
        if self._before is not None and now_s >= self._due_s:
            self._look(now_s)
        return self._counted if self._before is not None else None

    def _look(self, now_s: float) -> None:
        if self._asked is None:
            return
        began_s = time.thread_time()
        try:
            found = [one for port in self._ports for one in _connections(self._asked, port)]
        except OSError:
            self._asked = self._before = None
            return
        most = connection.highest_kept(self._share) if self._share > 0 else -1
        before = self._before
        kept_connections = 0
        for one in found:
            kept = one.number <= most
            kept_connections += kept
            if before is not None:
                grown = (one.segments - before.get(one.identity, 0)) & _U32
                self._all += grown
                self._kept += grown if kept else 0
        self._before = {one.identity: one.segments for one in found}
        self._counted = Counted(self._kept, self._all, kept_connections, len(found))
        self._due_s = now_s + max(_EVERY_S, _COST * (time.thread_time() - began_s))


def parse(message: bytes) -> Connection | None:
    """One answer of the kernel; None where it says nothing of segments."""
    info = netlink.attributes(message[_MESSAGE_BYTES:]).get(_INFO, b"")
    if len(info) < _DATA_SEGMENTS_IN_AT + _DATA_SEGMENTS_IN.size:
        return None
    identity = message[_IDENTITY]
    ports = _PORTS.unpack_from(identity)
    ends = (identity[4:20], identity[20:36])
    width = 4 if message[0] == socket.AF_INET else 16
    addresses = (int.from_bytes(end[width - 4 : width], "big") for end in ends)
    number = connection.number(sum(addresses) + sum(ports))
    return Connection(identity, number, _DATA_SEGMENTS_IN.unpack_from(info, _DATA_SEGMENTS_IN_AT)[0])


def _connections(asked: socket.socket, port: int) -> list[Connection]:
    found = []
    for family in (socket.AF_INET, socket.AF_INET6):
        states = 1 << _ESTABLISHED | 1 << _CLOSE_WAIT
        head = _REQUEST.pack(family, socket.IPPROTO_TCP, 1 << (_INFO - 1), states)
        answers = netlink.dump(asked, _BY_FAMILY, head + _SOCKET.pack(port))
        found += [one for one in map(parse, answers) if one is not None]
    return found
