"""Finds the MySQL and MariaDB servers of a network namespace: on which TCP ports do their processes listen, as whom?

Whose socket is whose is read from /proc/PID/fd, which takes the rights of root or of the server's user. Where these are
missing, the user who made a socket says whose it is.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from collector.capture.listeners import Listener
from collector.config import StartError

SERVERS: Final = frozenset({"mysqld", "mariadbd"})
"""Names of server processes, as /proc/PID/comm has them."""

OTHER_PROTOCOLS: Final = {
    33060: "the X Protocol; capture.x_ports would record it",
    33061: "group replication; name it in capture.ports if it is not",
    4444: "Galera state transfer; name it in capture.ports if it is not",
    4567: "Galera replication; name it in capture.ports if it is not",
    4568: "Galera state transfer; name it in capture.ports if it is not",
}
"""Ports on which a server listens by default for something that is not the MySQL protocol."""

ROOT: Final = 0

_SOCKET: Final = re.compile(r"socket:\[(\d+)\]")

_log = logging.getLogger(__name__)


class ServerError(StartError):
    """No server is found, or none that can be recorded. One may come."""


@dataclass(frozen=True, slots=True)
class Servers:
    """What was found of the servers of a network namespace."""

    sockets: frozenset[Listener]
    """Those on which servers speak the MySQL protocol."""
    uids: frozenset[int]
    """Users as whom they run, but for root: that root made a socket does not tell whose it is."""
    strangers: frozenset[int] = frozenset()
    """Inodes of listening sockets that are the same users', but no server's."""

    @property
    def ports(self) -> tuple[int, ...]:
        """In order."""
        return tuple(sorted({one.port for one in self.sockets}))


@dataclass(frozen=True, slots=True)
class _Process:
    number: str
    uid: int
    sockets: frozenset[int] | None
    """Inodes of the sockets it has open; None where they may not be seen."""


def find(
    listening: Collection[Listener], namespace: int, others: Collection[int] = (), proc: Path = Path("/proc")
) -> Servers:
    """The servers of a network namespace, by the inode that names it, with the sockets that are *listening* there.

    *others* are ports known to speak something else. Raises ServerError when there is none to be found.
    """
    processes = list(_server_processes(proc, namespace))
    found = _judged(listening, processes)
    for port in sorted({one.port for one in found.sockets} & OTHER_PROTOCOLS.keys() - set(others)):
        _log.info("port %d is not recorded: %s", port, OTHER_PROTOCOLS[port])
    left_out = OTHER_PROTOCOLS.keys() | set(others)
    found = Servers(frozenset(one for one in found.sockets if one.port not in left_out), found.uids, found.strangers)
    if found.sockets:
        return found
    raise _nothing_found(processes)


def _judged(listening: Collection[Listener], processes: Collection[_Process]) -> Servers:
    seen = frozenset[int]().union(*(one.sockets for one in processes if one.sockets is not None))
    unseen = {one.uid for one in processes if one.sockets is None} - {ROOT}
    uids = frozenset(one.uid for one in processes) - {ROOT}
    sockets = frozenset(one for one in listening if one.inode in seen or one.uid in unseen)
    strangers = frozenset(one.inode for one in listening if one.uid in uids and one not in sockets)
    return Servers(sockets, uids, strangers)


def _nothing_found(processes: Collection[_Process]) -> ServerError:
    unreadable = [one.number for one in processes if one.sockets is None]
    if unreadable:
        return ServerError(
            f"may not see which ports the server (process {', '.join(unreadable)}) listens on",
            "run as root (sudo querytap run), or name the ports in capture.ports",
        )
    if processes:
        return ServerError(
            f"the server (process {', '.join(one.number for one in processes)}) listens on no TCP port, and only TCP"
            " can be recorded",
            "let it listen on one (skip_networking, port), then start querytap again",
        )
    return ServerError(
        "no mysqld or mariadbd process is found in this network namespace",
        "start the server first, or name its port: --set 'capture.ports=[3306]'",
    )


def _server_processes(proc: Path, namespace: int) -> Iterator[_Process]:
    """Each server of the network namespace, or whose namespace may not be looked at."""
    for process in proc.iterdir():
        if not process.name.isdecimal():
            continue
        try:
            name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
            if name in SERVERS and _within(process, namespace):
                yield _Process(process.name, _uid(process), _sockets(process))
        except (FileNotFoundError, ProcessLookupError, PermissionError):  # it ended meanwhile, or is hidden
            continue


def _within(process: Path, namespace: int) -> bool:
    try:
        return (process / "ns/net").stat().st_ino == namespace
    except PermissionError:
        return True


def _uid(process: Path) -> int:
    """Who makes its files and sockets: the last of the four users in /proc/PID/status (proc(5))."""
    status = (process / "status").read_text(encoding="utf-8", errors="replace")
    line = next(line for line in status.splitlines() if line.startswith("Uid:"))
    return int(line.split()[4])


def _sockets(process: Path) -> frozenset[int] | None:
    """Inodes of the sockets that a process has open; None where that may not be seen."""
    found: set[int] = set()
    try:
        for entry in (process / "fd").iterdir():
            try:
                match = _SOCKET.fullmatch(str(entry.readlink()))
            except FileNotFoundError:  # closed meanwhile
                continue
            if match:
                found.add(int(match.group(1)))
    except PermissionError:
        return None
    return frozenset(found)
