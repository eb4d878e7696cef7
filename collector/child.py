"""What the processes of the tree have in common: how one begins, exit codes, how signals wake its loop."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterable
from typing import Final

from collector import log, privileges
from collector.config import Config, from_mapping

EXIT_CONFIG: Final = 2
EXIT_CANNOT_START: Final = 3
"""A right, an interface, a key or a server is missing."""
MOST_CONFIG_BYTES: Final = 1 << 17
"""Of a configuration that is sent: well below what a socket takes at once where nobody has changed its bounds."""

EXIT_INTERFACE_GONE: Final = 4
"""Of capture: an interface went while it was captured on."""


def begin(process: str, settings_fd: int) -> Config:
    """Begin as a process that the supervisor has exec'd; the configuration comes back. Raises ConfigError.

    Closed to debuggers from here on, which exec has undone; deaf to a terminal's Ctrl-C, which is the supervisor's.
    """
    privileges.close_to_debuggers()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    log.to_stderr(process)
    return read_config(settings_fd)


def read_config(fd: int) -> Config:
    """The configuration from a memfd that others may read as well; the fd is closed."""
    try:
        return from_mapping(json.loads(os.pread(fd, os.fstat(fd).st_size, 0)))
    finally:
        os.close(fd)


def signals(numbers: Iterable[signal.Signals]) -> socket.socket:
    """A socket that can be read, without blocking, when one of *numbers* has arrived: as bytes, a signal each."""
    reading, writing = socket.socketpair()
    reading.setblocking(False)
    writing.setblocking(False)
    signal.set_wakeup_fd(writing.detach(), warn_on_full_buffer=False)
    for number in numbers:
        signal.signal(number, _only_wake)
    return reading


def arrived(reading: socket.socket) -> bytes:
    """The signals that have arrived since the last time."""
    try:
        return reading.recv(4096)
    except BlockingIOError:
        return b""


class Changes:
    """Configurations to take over while a process runs. From this one none comes."""

    def __init__(self) -> None:
        self.fds: list[int] = []
        """To be watched: becomes readable when there is something; empty when nothing can come any more."""

    def latest(self) -> Config | None:
        """The last that has come, None when none has; never blocks."""
        return None

    def close(self) -> None:
        """Take nothing more."""
        self.fds = []


class SentChanges(Changes):
    """Those that the supervisor sends over *fd*, a message each."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._socket = socket.socket(fileno=fd)
        self._socket.setblocking(False)
        self.fds = [fd]

    def latest(self) -> Config | None:
        """As Changes says."""
        found = None
        while self.fds:
            try:
                said = self._socket.recv(MOST_CONFIG_BYTES)
            except BlockingIOError:
                break
            except ConnectionError:
                said = b""
            if said:
                found = from_mapping(json.loads(said))
            else:
                self.fds = []
        return found

    def close(self) -> None:
        """As Changes says."""
        super().close()
        self._socket.close()


def changes_over(fd: int) -> Changes:
    """The changes that come over *fd*; below 0: none."""
    return SentChanges(fd) if fd >= 0 else Changes()


def manner(code: int) -> str:
    """How a process ended, by its exit code (negative: a signal)."""
    return f"ended with code {code}" if code >= 0 else f"was killed by {signal.Signals(-code).name}"


def _only_wake(*_: object) -> None:
    """Signals are read from the socket."""
