"""Where a process puts records for another one of this host, which takes them while it is there, and may write back.

Never waits for it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
from pathlib import Path
from typing import Final, Protocol

_MOST_BYTES: Final = 64
"""Of a record that is written back."""
_FOR_OWNER_AND_GROUP: Final = 0o660
LATER: Final = frozenset(
    {errno.EAGAIN, errno.ENOBUFS, errno.ECONNREFUSED, errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN}
)
"""What a send to a process says that has no room, or that may be starting again."""


class Outlet(Protocol):
    """Messages to another process, which stay whole: SOCK_SEQPACKET."""

    @property
    def fd(self) -> int:
        """Becomes readable when a reader has come to whom nothing was sent yet, or has written back."""

    def take(self) -> bytes | None:
        """The next record that was written back, cut to 64 bytes; None where there is none."""

    def send(self, message: bytes) -> bool:
        """Hand a message over; False where nobody is there, or there is no room for it. Raises OSError."""

    def close(self) -> None:
        """Send nothing more."""


class Inherited:
    """One end of a pair that the supervisor made; it keeps the other one for whoever is to read."""

    _over = False

    def __init__(self, fd: int) -> None:
        self._socket = socket.socket(fileno=fd)
        self._socket.setblocking(False)
        self._watch = select.epoll()
        self._watch.register(self._socket, select.EPOLLIN)

    @property
    def fd(self) -> int:
        """As Outlet says."""
        return self._watch.fileno()

    def take(self) -> bytes | None:
        """As Outlet says."""
        record = _taken(self._socket) if not self._over else None
        if record == b"":  # nobody has the other end any more, which would wake us without end
            self._watch.unregister(self._socket)
            self._over = True
            return None
        return record

    def send(self, message: bytes) -> bool:
        """As Outlet says."""
        return _sent(self._socket, message)

    def close(self) -> None:
        """As Outlet says."""
        self._watch.close()
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
        self._watch = select.epoll()
        self._watch.register(self._listening, select.EPOLLIN)

    @property
    def fd(self) -> int:
        """As Outlet says."""
        return self._watch.fileno()

    def take(self) -> bytes | None:
        """As Outlet says."""
        record = _taken(self._reader) if self._reader is not None else None
        if record == b"":
            self._forget()
            return None
        return record

    def send(self, message: bytes) -> bool:
        """As Outlet says."""
        with contextlib.suppress(BlockingIOError):
            came, _ = self._listening.accept()
            self._forget()
            came.setblocking(False)
            self._watch.register(came, select.EPOLLIN)
            self._reader = came
        return self._reader is not None and _sent(self._reader, message)

    def close(self) -> None:
        """As Outlet says."""
        self._forget()
        self._watch.close()
        self._listening.close()

    def _forget(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None


def _taken(of: socket.socket) -> bytes | None:
    try:
        return of.recv(_MOST_BYTES)
    except BlockingIOError:
        return None
    except ConnectionError:
        return b""


def _sent(to: socket.socket, message: bytes) -> bool:
    try:
        to.send(message, socket.MSG_NOSIGNAL)
    except OSError as error:
        if error.errno not in LATER:
            raise
        return False
    return True
