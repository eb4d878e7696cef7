"""Where the records of another process come from, and what is answered goes. Never blocks, nor raises for its sake."""

from __future__ import annotations

import socket
import struct
from pathlib import Path
from typing import Final

_NONE: Final = -1
_CREDENTIALS: Final = struct.Struct("=iII")  # struct ucred: process, user, group


class Inlet:
    """A SOCK_SEQPACKET connection: of one that the supervisor made the *fd*, or one to *path*, made again if lost."""

    def __init__(self, most_bytes: int, *, fd: int = _NONE, path: Path | None = None) -> None:
        self._most_bytes = most_bytes
        self._path = path
        self._socket: socket.socket | None = None
        if fd != _NONE:
            self._socket = socket.socket(fileno=fd)
            self._socket.setblocking(False)

    @property
    def fd(self) -> int:
        """Becomes readable when a record is there; -1 while there is no connection."""
        return _NONE if self._socket is None else self._socket.fileno()

    @property
    def lasting(self) -> bool:
        """Whether the end of a connection is not the end of the records."""
        return self._path is not None

    def connect(self) -> bool:
        """Try to connect where that is to be done; whether there is a connection that was not there before."""
        if self._path is None or self._socket is not None:
            return False
        made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
        try:
            made.connect(str(self._path))
        except OSError:  # nobody listens: it may begin to
            made.close()
            return False
        self._socket = made
        return True

    @property
    def peer(self) -> int:
        """The process at the other end, or the one that made the connection; 0 where there is none."""
        if self._socket is None:
            return 0
        found = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        return int(_CREDENTIALS.unpack(found)[0])

    def answer(self, record: bytes) -> bool:
        """Write back; False where nobody is there, or there is no room for it. Never blocks."""
        if self._socket is None:
            return False
        try:
            self._socket.send(record, socket.MSG_NOSIGNAL)
        except OSError:  # whoever comes next is told again
            return False
        return True

    def take(self) -> bytes | None:
        """The next record, None when there is none; nothing (b"") says that the connection is closed."""
        if self._socket is None:
            return None
        try:
            record = self._socket.recv(self._most_bytes)
        except BlockingIOError:
            return None
        except ConnectionError:
            record = b""
        return record

    def close(self) -> None:
        """Let go of the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
