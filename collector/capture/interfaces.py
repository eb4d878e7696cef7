"""The network interfaces of a namespace: name, number, and what each is a member of (rtnetlink(7)). Needs no right."""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from collector.capture import netlink
from collector.config import StartError

MOST_LEFT_OUT: Final = 256
"""Interfaces that a filter names to leave them out."""

_GET_LINK: Final = 18  # RTM_GETLINK, linux/rtnetlink.h
_LINKS_GROUP: Final = 1  # RTMGRP_LINK
_MESSAGE: Final = struct.Struct("=BxHiII")  # struct ifinfomsg: family, type, index, flags, change
_NAME, _MASTER, _INFO, _EXTENSIONS = 3, 10, 18, 29  # IFLA_*, linux/if_link.h
_SLAVE_KIND: Final = 4  # IFLA_INFO_SLAVE_KIND, in IFLA_LINKINFO
_WITHOUT_STATISTICS: Final = struct.pack("=HHI", 8, _EXTENSIONS, 8)  # RTEXT_FILTER_SKIP_STATS
_UNKNOWN: Final = "unknown"
_BUNDLES: Final = frozenset({"bond", "team"})
_SEEN_ON_THE_MEMBER: Final = frozenset({"vrf"})


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface as it was when it was looked up."""

    name: str
    index: int
    member_of: str = ""
    """Kind of what it is a member of ("bridge", "bond", ...), which shows its packets too; empty: of nothing."""


class InterfaceError(StartError):
    """An interface is missing, or down where it must not be. It may come back."""


class Interfaces:
    """Those of the network namespace in which this was made."""

    def __init__(self) -> None:
        self._asked = netlink.connect(netlink.ROUTE)
        self._told = netlink.connect(netlink.ROUTE, _LINKS_GROUP)
        self._told.setblocking(False)

    @property
    def fd(self) -> int:
        """Becomes readable when something has changed."""
        return self._told.fileno()

    def changed(self) -> bool:
        """Whether something may have changed since the last time; never blocks."""
        found = False
        while True:
            try:
                found = bool(self._told.recv(1)) or found  # what it was is asked for anyway
            except BlockingIOError:
                return found
            except OSError as error:
                if error.errno != errno.ENOBUFS:  # more than it could be told of
                    raise
                found = True

    def now(self) -> tuple[Interface, ...]:
        """All there are, by index. Raises OSError."""
        request = _MESSAGE.pack(socket.AF_UNSPEC, 0, 0, 0, 0) + _WITHOUT_STATISTICS
        found = map(_interface, netlink.dump(self._asked, _GET_LINK, request))
        return tuple(sorted(found, key=lambda one: one.index))

    def close(self) -> None:
        """Ask nothing more, and be told nothing."""
        self._asked.close()
        self._told.close()


def choose(names: Sequence[str], known: Iterable[Interface]) -> tuple[Interface, ...]:
    """The named interfaces that are *known*, in the order of the names."""
    by_name = {one.name: one for one in known}
    return tuple(by_name[name] for name in names if name in by_name)


def require(names: Sequence[str], known: Sequence[Interface]) -> tuple[Interface, ...]:
    """All of the named interfaces; InterfaceError lists those that do not exist, and those that do."""
    there = {one.name for one in known}
    missing = [name for name in names if name not in there]
    if missing:
        plural = "s" if len(missing) > 1 else ""
        raise InterfaceError(
            f"no interface{plural} {', '.join(missing)} here",
            f"set capture.interfaces to some of {', '.join(sorted(there))}, or leave it out for all",
        )
    return choose(names, known)


def left_out(known: Iterable[Interface], *, local: bool) -> tuple[int, ...]:
    """Indexes of those whose packets another interface shows again, nearer to where the host takes or gives them.

    Members of a bond show nothing else. Nor do members of a bridge where the servers are the host's own (*local*);
    what passes from one of them to another is seen on no other interface. A VRF shows nothing of its own. Of very many
    some are not told: their packets come twice and count once.
    """
    found = (
        one.index
        for one in known
        if one.member_of in _BUNDLES or (local and one.member_of and one.member_of not in _SEEN_ON_THE_MEMBER)
    )
    return tuple(sorted(found)[:MOST_LEFT_OUT])


def _interface(message: bytes) -> Interface:
    _, _, index, _, _ = _MESSAGE.unpack_from(message)
    found = netlink.attributes(message[_MESSAGE.size :])
    name = found[_NAME].rstrip(b"\0").decode("utf-8", "surrogateescape")
    if _MASTER not in found:
        return Interface(name, index)
    kind = netlink.attributes(found.get(_INFO, b"")).get(_SLAVE_KIND, _UNKNOWN.encode())
    return Interface(name, index, kind.rstrip(b"\0").decode("ascii", "replace"))
