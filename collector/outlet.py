"""Where a process puts records for another one of this host, which takes them while it is there. Never waits for it."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from pathlib import Path
from typing import Final, Protocol

_FOR_OWNER_AND_GROUP: Final = 0o660
LATER: Final = frozenset(
    {errno.EAGAIN, errno.ENOBUFS, errno.ECONNREFUSED, errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN}
)
"""What a send to a process says that has no room, or that may be starting again."""


class Outlet(Protocol):
    """Messages to another process, which stay whole: SOCK_SEQPACKET."""

    @property
    def fd(self) -> int:
        """Becomes readable when a reader has come to whom nothing was sent yet; -1: it never does."""

    def send(self, message: bytes) -> bool:
        """Hand a message over; False where nobody is there, or there is no room for it. Raises OSError."""

    def close(self) -> None:
        """Send nothing more."""


class Inherited:
    """One end of a pair that the supervisor made; it keeps the other one for whoever is to read."""

    def __init__(self, fd: int) -> None:
        self._socket = socket.socket(fileno=fd)
        self._socket.setblocking(False)

    @property
    def fd(self) -> int:
        """As Outlet says."""
        return -1

    def send(self, message: bytes) -> bool:
        """As Outlet says."""
        return _sent(self._socket, message)

    def close(self) -> None:
        """As Outlet says."""
        self._socket.close()


class Listening:
    """A socket at *path*, to which the reader connects when it likes; who comes later takes the earlier one's place.

    The owner of the folder and the folder's group may connect. Raises OSError.
    """

    def __init__(self, path: Path) -> None:
        self._reader: socket.socket | None = None
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        path.unlink(missing_ok=True)
        before = os.umask(0o777 & ~_FOR_OWNER_AND_GROUP)
        try:
            self._listening.bind(str(path))
        finally:
            os.umask(before)
        self._listening.listen(1)
        self._listening.setblocking(False)

    @property
    def fd(self) -> int:
        """As Outlet says."""
        return self._listening.fileno()

    def send(self, message: bytes) -> bool:
        """As Outlet says."""
        with contextlib.suppress(BlockingIOError):
            came, _ = self._listening.accept()
            self._forget()
            came.setblocking(False)
            self._reader = came
        return self._reader is not None and _sent(self._reader, message)

    def close(self) -> None:
        """As Outlet says."""
        self._forget()
        self._listening.close()

    def _forget(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None


def _sent(to: socket.socket, message: bytes) -> bool:
    try:
        to.send(message, socket.MSG_NOSIGNAL)
    except OSError as error:
        if error.errno not in LATER:
            raise
        return False
    return True
