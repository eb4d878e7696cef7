"""Tells a service manager how this process is, and leaves descriptors with it: sd_notify(3), sd_listen_fds(3).

The protocol is a datagram of lines, and variables of the environment: stable interfaces of systemd, which others have.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, MutableMapping
from typing import Final

_FIRST_FD: Final = 3  # SD_LISTEN_FDS_START
_KEEPING_S: Final = 5.0
_SHARE: Final = 0.4  # of the watchdog's time, after which it is told again
_ALWAYS: Final = socket.MSG_NOSIGNAL


class Manager:
    """The service manager that started this process. Where none did, nothing is told, and nothing kept.

    Takes its variables out of *environment*: they are meant for this process, and not for those it starts.
    """

    def __init__(self, environment: MutableMapping[str, str] = os.environ) -> None:
        self._socket = _connected(environment.pop("NOTIFY_SOCKET", ""))
        watchdog = _own(environment, "WATCHDOG_PID") and environment.pop("WATCHDOG_USEC", "")
        self._each_s = int(watchdog or 0) / 1e6 * _SHARE
        self._alive_at = 0.0
        self.kept: Mapping[str, int] = _listed(environment)
        """The descriptors that an earlier process of this service left, by name; closed on exec."""

    @property
    def there(self) -> bool:
        """Whether there is one."""
        return self._socket is not None

    def ready(self) -> None:
        """The start, or the taking over of a changed configuration, is done."""
        self._tell("READY=1")

    def reloading(self) -> None:
        """A changed configuration is being taken over; ready() says when that is done."""
        self._tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def status(self, text: str) -> None:
        """What `systemctl status` shows."""
        self._tell(f"STATUS={text}".replace("\n", " "))

    def stopping(self, within_s: float) -> None:
        """The end has begun, and takes no longer than that."""
        self._tell("STOPPING=1", f"EXTEND_TIMEOUT_USEC={int(within_s * 1e6)}")

    def alive(self) -> None:
        """Keep the watchdog quiet; to be called more often than it wants to hear."""
        if self._each_s and time.monotonic() >= self._alive_at:
            self._alive_at = time.monotonic() + self._each_s
            self._tell("WATCHDOG=1")

    def keep(self, name: str, fd: int) -> None:
        """Have it keep a descriptor for the next process of this service, whatever becomes of this one.

        Unpolled: an error that waits in a socket, as of an interface that went down, is no reason to drop it. Waits for
        room. Raises OSError.
        """
        if self._socket is not None:
            self._socket.settimeout(_KEEPING_S)
            socket.send_fds(self._socket, [f"FDSTORE=1\nFDPOLL=0\nFDNAME={name}".encode()], [fd], _ALWAYS)
            self._socket.setblocking(False)

    def drop(self, name: str) -> None:
        """Have it close its copies of what was kept under *name*. Waits for room. Raises OSError."""
        if self._socket is not None:
            self._socket.settimeout(_KEEPING_S)
            self._socket.send(f"FDSTOREREMOVE=1\nFDNAME={name}".encode(), _ALWAYS)
            self._socket.setblocking(False)

    def close(self) -> None:
        """Tell nothing more."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _tell(self, *lines: str) -> None:
        if self._socket is None:
            return
        try:
            self._socket.send("\n".join(lines).encode(), _ALWAYS)
        except OSError:
            return  # it has no room, or starts anew: nothing here waits for it


def _connected(address: str) -> socket.socket | None:
    if not address.startswith(("/", "@")):
        return None
    found = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    found.connect("\0" + address[1:] if address.startswith("@") else address)
    found.setblocking(False)
    return found


def _own(environment: MutableMapping[str, str], name: str) -> bool:
    """Whether what goes with the variable is meant for this process."""
    return environment.pop(name, str(os.getpid())) == str(os.getpid())


def _listed(environment: MutableMapping[str, str]) -> dict[str, int]:
    ours = _own(environment, "LISTEN_PID")
    total = int(environment.pop("LISTEN_FDS", "0"))
    names = environment.pop("LISTEN_FDNAMES", "").split(":")
    if not ours:
        return {}
    found = {}
    for fd, name in zip(range(_FIRST_FD, _FIRST_FD + total), names, strict=False):
        os.set_inheritable(fd, False)
        found[name] = fd
    return found
