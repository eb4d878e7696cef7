"""A stand-in for the service manager: starts a process again with the descriptors that it left (sd_notify(3))."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from tests.support import processes
from tests.support.namespaces import Namespace

TIMEOUT_S: Final = 60
_MOST_FDS: Final = 8

# Puts the descriptors where they are looked for, names itself as the one they are meant for, and becomes the command.
_STARTER: Final = """
import os, sys
fds, command = [int(fd) for fd in sys.argv[1].split(",") if fd], sys.argv[2:]
high = [os.dup2(fd, 200 + number) for number, fd in enumerate(fds)]
for number, fd in enumerate(high):
    os.dup2(fd, 3 + number)
os.closerange(3 + len(fds), 1000)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execvp(command[0], command)
"""


class Service:
    """One service: what it told, and what it left. As a context manager it is ended, and forgets."""

    def __init__(self, namespace: Namespace, name: str, command: Sequence[str], log: Path) -> None:
        self.name = name
        self.told: dict[str, str] = {}
        """The last value of each thing, as of the present process; STATUS and so on."""
        self.store: dict[str, int] = {}
        self.starts = 0
        self._namespace = namespace
        self.command = list(command)
        self._log = log
        self._folder = tempfile.TemporaryDirectory(prefix="querytap-manager-")
        Path(self._folder.name).chmod(0o755)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(f"{self._folder.name}/notify")
        Path(self._folder.name, "notify").chmod(0o777)
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        self.forget()
        self._socket.close()
        self._folder.cleanup()

    @property
    def running(self) -> subprocess.Popen[bytes]:
        """Its process."""
        assert self.process is not None
        return self.process

    def start(self, wait: bool = True) -> None:
        """Start it with what it left; returns when it is ready."""
        self.told = {}
        self.starts += 1
        names = list(self.store)
        fds = [self.store[name] for name in names]
        starter = [sys.executable, "-c", _STARTER, ",".join(map(str, fds)), *self.command]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._namespace.command(starter),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=fds,
                env=self._environment(names),
            )
        if wait:
            self.wait_for("READY", "1")

    def _environment(self, names: Sequence[str]) -> Mapping[str, str]:
        kept = {"LISTEN_FDS": str(len(names)), "LISTEN_FDNAMES": ":".join(names)} if names else {}
        return {
            **processes.environment(),
            "NOTIFY_SOCKET": f"{self._folder.name}/notify",
            "WATCHDOG_USEC": "30000000",
            **kept,
        }

    def wait_for(self, what: str, value: str) -> None:
        """Wait until it has told that. Raises AssertionError when it ends before, or in a minute."""
        deadline = time.monotonic() + TIMEOUT_S
        while self.told.get(what) != value:
            assert self.running.poll() is None, f"{self.name} ended: {self.complaint()}"
            assert time.monotonic() < deadline, f"{self.name} did not tell {what}={value}: {self.complaint()}"
            self.hear(0.1)

    def hear(self, most_s: float = 0) -> None:
        """Take what it has told."""
        while select.select([self._socket], [], [], most_s)[0]:
            most_s = 0
            data, fds, _, _ = socket.recv_fds(self._socket, 4096, _MOST_FDS)
            lines = dict(line.split("=", 1) for line in data.decode().splitlines())
            name = lines.pop("FDNAME", "")
            lines.pop("FDPOLL", None)
            if lines.pop("FDSTORE", None):
                assert name not in self.store
                (self.store[name],) = fds
            elif lines.pop("FDSTOREREMOVE", None):
                os.close(self.store.pop(name))
            self.told |= lines

    def kill(self) -> None:
        """End its main process without a word; those that it has started are on their own."""
        self.running.kill()
        self.running.wait()
        self.hear()

    def stop(self) -> int:
        """Ask it to end; its exit status."""
        if self.process is None:
            return 0
        status = processes.stop(self.process, TIMEOUT_S)
        self.hear()
        self.process = None
        return status

    def forget(self) -> None:
        """Close what it left, as a manager does when a service is stopped for good."""
        for fd in self.store.values():
            os.close(fd)
        self.store = {}

    def drop(self, name: str) -> None:
        """Close one of what it left."""
        os.close(self.store.pop(name))

    def exchange(self, one: str, other: str) -> None:
        """Take two of what it left for each other."""
        self.store[one], self.store[other] = self.store[other], self.store[one]

    def complaint(self) -> str:
        """The end of the log that the services share."""
        return self._log.read_text(errors="replace")[-8000:]
