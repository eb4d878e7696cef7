"""Network namespaces of a test's own: a loopback carries the test's traffic, and a capture sees nothing else.

Root makes just the network namespace. Anyone else makes a user namespace with it, in which they are root; AF_PACKET
works in both.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Self

from tests.support import processes


class Namespace:
    """A network namespace with its loopback up, which lasts as long as the process that holds it.

    As a context manager it ends the holder. Processes that still run in it then are the business of who started them.
    *beside*: one whose interfaces can be moved here, as the same user namespace owns both.
    """

    def __init__(self, beside: Namespace | None = None) -> None:
        flags = ["--net"] if os.geteuid() == 0 or beside else ["--user", "--map-root-user", "--net"]
        command = ["unshare", *flags, "--", "sh", "-c", "ip link set lo up && echo ready && exec cat"]
        self._holder = subprocess.Popen(
            beside.command(command) if beside else command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"},
        )
        assert self._holder.stdout is not None
        if self._holder.stdout.readline() != b"ready\n":
            self.close()
            raise RuntimeError("no network namespace: are unprivileged user namespaces switched off on this host?")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """A process in it, for as long as it lasts."""
        return self._holder.pid

    def close(self) -> None:
        """End the holder; it ends by itself too when this process does, for its standard input closes."""
        for pipe in (self._holder.stdin, self._holder.stdout):
            assert pipe is not None
            pipe.close()
        processes.stop(self._holder, 5)

    def command(self, command: Sequence[str]) -> list[str]:
        """The command line that runs *command* in here; the process keeps its number, so signals reach it directly."""
        flags = [f"--net=/proc/{self._holder.pid}/ns/net"]
        if os.geteuid() != 0:
            flags += [f"--user=/proc/{self._holder.pid}/ns/user", "--preserve-credentials"]
        return ["nsenter", *flags, "--", *command]

    def start(
        self, command: Sequence[str], output: IO[bytes] | Path | None = None, stdin: int = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes]:
        """Start a process in here, with both its outputs appended to *output* (None: kept as this process's own)."""
        if isinstance(output, Path):
            with output.open("ab") as file:
                return self.start(command, file, stdin)
        return subprocess.Popen(
            self.command(command),
            stdin=stdin,
            stdout=output,
            stderr=subprocess.STDOUT if output is not None else None,
            env=processes.environment(),
        )

    def run(self, command: Sequence[str], timeout_s: float = 120) -> subprocess.CompletedProcess[bytes]:
        """Run a command in here to its end; its output is part of the error when it fails."""
        return processes.run(self.command(command), timeout_s)

    def call(self, function: Callable[..., Any], *arguments: str) -> Any:  # noqa: ANN401  # JSON
        """What *function* returns, as JSON has it, in a fork of this process that has entered here.

        It takes a fraction of the time of a process that has to import first. What it prints is part of the error when
        it fails.
        """
        with tempfile.TemporaryFile("w+") as result, tempfile.TemporaryFile("w+") as output:
            child = os.fork()
            if not child:
                _be_the_child(self.pid, result, output, lambda: function(*arguments))
            _, status = os.waitpid(child, 0)
            output.seek(0)
            result.seek(0)
            assert status == 0, f"{function.__name__}{arguments} ended with {status}:\n{output.read()[-6000:]}"
            return json.load(result)

    def listen(self) -> socket.socket:
        """A socket that listens on the loopback in here; this process accepts from it."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self.call(_listen, str(theirs.fileno()))
            _, (listening, *_), _, _ = socket.recv_fds(ours, 1, 1)
        return socket.socket(fileno=listening)


class Host(Namespace):
    """None: what is started in it runs beside the test, on the host's own network."""

    def __init__(self) -> None:
        """Make nothing."""

    @property
    def pid(self) -> int:
        """This process."""
        return os.getpid()

    def close(self) -> None:
        """Leave the host as it is."""

    def command(self, command: Sequence[str]) -> list[str]:
        """The command itself."""
        return list(command)



def _listen(to: str) -> None:
    with socket.socket(fileno=int(to)) as receiver, socket.create_server(("127.0.0.1", 0)) as made:
        socket.send_fds(receiver, [b"-"], [made.fileno()])


def _be_the_child(holder: int, result: IO[str], output: IO[str], function: Callable[[], Any]) -> None:
    """Ends this process: whatever of the caller's it inherited is never closed or written by it."""
    status = 1
    try:
        for stream in (1, 2):
            os.dup2(output.fileno(), stream)
        sys.stdout = sys.stderr = output
        _enter(holder)
        json.dump(function(), result)
        result.flush()
        status = 0
    except BaseException:  # noqa: BLE001  # there is nobody above to whom it could go
        traceback.print_exc(file=output)
    finally:
        output.flush()
        os._exit(status)


def _enter(holder: int) -> None:
    setns = ctypes.CDLL(None, use_errno=True).setns
    for kind in ("net",) if os.geteuid() == 0 else ("user", "net"):
        with Path(f"/proc/{holder}/ns/{kind}").open("rb") as namespace:
            if setns(namespace.fileno(), 0) != 0:
                raise OSError(ctypes.get_errno(), f"the {kind} namespace cannot be entered")
