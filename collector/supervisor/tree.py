"""The children of the supervisor: how each is started, with which fds, as whom."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import collector
from collector import privileges
from collector.child import MOST_CONFIG_BYTES
from collector.config import Config, StartError, to_mapping
from collector.log import Relay
from collector.outlet import LATER
from collector.privileges import Identity
from collector.supervisor.order import AGGREGATOR, CAPTURE, MONITOR

_PACKAGES: Final = Path(collector.__file__).parents[1]
_CHUNK_BYTES: Final = 1 << 16
_LAST_CHUNKS: Final = 16  # of a process that ended: what a pipe holds, and more

# What is not named here may be a secret: of all processes capture and the workers least need any.
_FOR_ALL: Final = re.compile(r"PATH|LANG|LANGUAGE|LC_[A-Z]+|TZ|LD_LIBRARY_PATH|(?:PYTHON|MALLOC_|QUERYTAP_)[A-Z0-9_]*")
_FOR_THE_STORE: Final = re.compile(
    r"HOME|(?:AWS|AZURE|GOOGLE|GCP|OBJECT_STORE|SSL)_[A-Z0-9_]+|(?:https?|all|no)_proxy", re.IGNORECASE
)


class Child:
    """One process by its role; it is the same child however often it is started."""

    def __init__(self, name: str, user: Identity | None) -> None:
        self.name = name
        self.user = user
        """Whom it becomes, with no capability; None: it keeps what the supervisor has."""
        self.started = 0.0
        self.due: float | None = None
        """When it is to be started again, None when it runs or is not wanted."""
        self.output = -1
        """Becomes readable when it has written something; -1 when there is nothing more to come."""
        self._process: subprocess.Popen[bytes] | None = None
        self._changes: socket.socket | None = None
        self._untold = b""
        # Capture passes on what its workers wrote, and has bounded it.
        self._relay = Relay(name, names=r"capture|worker \d+", bounded=False) if name == CAPTURE else Relay(name)

    @property
    def alive(self) -> bool:
        """Whether it runs, or has ended and was not buried yet."""
        return self._process is not None

    def start(self, arguments: Sequence[str], fds: Sequence[int], now: float) -> None:
        """Run `python -m collector.<name>` with *arguments* and *fds*, away from any terminal."""
        parent = os.getpid()
        self._process = subprocess.Popen(
            command(["-m", f"collector.{self.name}", *arguments]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            pass_fds=fds,
            env=environment(os.environ, store=self.name == AGGREGATOR),
            start_new_session=True,
            # There are no threads here. The aggregator ends by itself when capture has ended, however that came.
            preexec_fn=_step_down(self.user, None if self.name == AGGREGATOR else parent),  # noqa: PLW1509
        )
        assert self._process.stdout is not None
        self.output = self._process.stdout.fileno()
        os.set_blocking(self.output, False)
        self.started = now
        self.due = None

    def listen(self) -> socket.socket:
        """The other end of what tell() sends from here on; of what was sent before, the rest is forgotten."""
        self.close()
        self._changes, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._changes.setblocking(False)
        return theirs

    def tell(self, config: Config) -> None:
        """Send another configuration, in place of one that there was no room for yet; never blocks.

        One that is not started yet is told nothing. StartError: it is too long to be sent.
        """
        if self._changes is None:
            return
        message = json.dumps(to_mapping(settings_for(self.name, config))).encode()
        if len(message) > MOST_CONFIG_BYTES:
            raise StartError(f"the configuration is too long to be sent to {self.name}", "restart querytap")
        self._untold = message
        self.tell_rest()

    def tell_rest(self) -> None:
        """Send what there was no room for, if there is room now."""
        if self._changes is None or not self._untold:
            return
        try:
            self._changes.send(self._untold, socket.MSG_NOSIGNAL)
        except OSError as error:
            if error.errno not in LATER:
                raise
            if error.errno in {errno.EAGAIN, errno.ENOBUFS}:
                return
        self._untold = b""  # to one that has ended it need not be told: the next one begins with it

    @property
    def untold(self) -> list[int]:
        """An fd that can be written to when tell_rest() can do something."""
        return [self._changes.fileno()] if self._changes is not None and self._untold else []

    def close(self) -> None:
        """Tell nothing more."""
        if self._changes is not None:
            self._changes.close()
        self._changes = None
        self._untold = b""

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if it runs; one that ends it at once is also for what it has started."""
        if self._process is None:
            return
        if number == signal.SIGKILL:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)  # of a session of its own
        else:
            self._process.send_signal(number)

    def ended(self) -> int | None:
        """The exit code of a process that has ended and was not buried yet (negative: a signal), None otherwise."""
        if self._process is None:
            return None
        return self._process.poll()

    def lines(self, now: float, time: str) -> list[str]:
        """What it has written, as lines for the log; does not block."""
        if self.output < 0:
            return []
        try:
            data = os.read(self.output, _CHUNK_BYTES)
        except BlockingIOError:
            return []
        if not data:
            self.output = -1
        return self._relay.feed(data, now, time)

    def bury(self, now: float, time: str) -> list[str]:
        """Let go of a process that ended; its last lines. Nothing it has started may write to the log after it."""
        assert self._process is not None
        assert self._process.stdout is not None
        found: list[str] = []
        for _ in range(_LAST_CHUNKS):
            found += self.lines(now, time)
        found += self._relay.feed(b"", now, time)
        self._process.stdout.close()
        self._process = None
        self.output = -1
        return found


class Tree:
    """Capture, aggregator and monitor with the sockets between them.

    The supervisor keeps both ends of each pair, so that either process can be started again with the same end; let_go()
    gives the ends of those that write back, after which the aggregator sees where the records end.
    """

    def __init__(self, config: Config, user: Identity, worker_user: Identity) -> None:
        self._config = config
        self._worker_user = worker_user
        self._statistics = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._samples = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._state = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._state[0].setblocking(False)
        self._state[1].setblocking(False)
        self.children = {
            AGGREGATOR: Child(AGGREGATOR, user),
            CAPTURE: Child(CAPTURE, None),
            MONITOR: Child(MONITOR, user),
        }

    def adopt(self, config: Config) -> None:
        """Go by another configuration: children that run are told of it. StartError: it is too long for that."""
        for child in self.children.values():
            child.tell(config)
        self._config = config

    def start(self, name: str, now: float, *, generation: int = 0) -> None:
        """Start a child; *generation* says how many there were before."""
        child = self.children[name]
        changes = child.listen()
        settings = _memfd(settings_for(name, self._config))
        arguments = ["--settings-fd", str(settings), "--changes-fd", str(changes.fileno())]
        fds = [settings, changes.fileno()]
        for option, fd in self._fds(name):
            arguments += [option, str(fd)]
            fds.append(fd)
        if name == AGGREGATOR:
            arguments += ["--workers", str(self._config.worker_total)]
        elif name == CAPTURE:
            arguments += ["--generation", str(generation), "--parent", str(os.getpid())]
            arguments += ["--worker-ids", f"{self._worker_user.uid}:{self._worker_user.gid}"]
        try:
            child.start(arguments, fds, now)
        finally:
            os.close(settings)
            changes.close()

    def alive(self) -> set[str]:
        """The names of those that run."""
        return {name for name, child in self.children.items() if child.alive}

    @property
    def state(self) -> socket.socket:
        """Where capture tells how far it is: a message each."""
        return self._state[0]

    def let_go(self) -> None:
        """Close the ends of the processes that write: what they have not sent by now does not come any more."""
        self._statistics[0].close()
        self._samples[0].close()

    def close(self) -> None:
        """Close all ends."""
        for child in self.children.values():
            child.close()
        for end in (*self._statistics, *self._samples, *self._state):
            end.close()

    def _fds(self, name: str) -> list[tuple[str, int]]:
        if name == CAPTURE:
            return [("--statistics-fd", self._statistics[0].fileno()), ("--state-fd", self._state[1].fileno())]
        if name == MONITOR:
            return [("--aggregator-fd", self._samples[0].fileno())]
        return [("--statistics-fd", self._statistics[1].fileno()), ("--monitor-fd", self._samples[1].fileno())]


def can_run(user: Identity) -> bool:
    """Whether *user* can read the interpreter and the packages: below /root it cannot. Takes a moment.

    The trial looks like a process of querytap, so that another instance which starts now takes it for one.
    """
    try:
        trial = subprocess.run(
            command(["-m", f"collector.{AGGREGATOR}", "--help"]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(os.environ),
            start_new_session=True,
            preexec_fn=_step_down(user, os.getpid()),  # there are no threads here
            check=False,
        )
    except PermissionError:
        return False
    return trial.returncode == 0


def unwritable(user: Identity, folders: Iterable[Path]) -> Path | None:
    """The first folder in which *user* cannot make files, as one who may not enter a folder above it cannot."""
    return next((folder for folder in folders if not _can_write(user, folder)), None)


def _can_write(user: Identity, folder: Path) -> bool:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            privileges.become(user)
            code = 0 if os.access(folder, os.W_OK | os.X_OK) else 1
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1] == 0


def command(arguments: Sequence[str]) -> list[str]:
    """This interpreter with *arguments*; -P: packages come from where ours did, not from the present folder."""
    return [sys.executable, "-P", *arguments]


def environment(ours: Mapping[str, str], *, store: bool = False) -> dict[str, str]:
    """What a child gets of our environment, with our packages found first; *store*: and what reaches a remote store."""
    found = {
        name: value
        for name, value in ours.items()
        if _FOR_ALL.fullmatch(name) or (store and _FOR_THE_STORE.fullmatch(name))
    }
    found["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_PACKAGES), found.get("PYTHONPATH"))))
    return found


def settings_for(name: str, config: Config) -> Config:
    """The configuration as a child gets it: the store's URL, which may hold a secret, is the aggregator's alone."""
    return config if name == AGGREGATOR else replace(config, store=replace(config.store, url="", endpoint=""))


def _step_down(user: Identity | None, parent: int | None) -> Callable[[], None]:
    def between_fork_and_exec() -> None:
        for number in (signal.SIGINT, signal.SIGHUP):  # a terminal sends them to all; the supervisor decides
            signal.signal(number, signal.SIG_IGN)
        if user is not None:
            privileges.become(user)
        if parent is not None:
            privileges.end_with_parent(signal.SIGTERM, parent)

    return between_fork_and_exec


def _memfd(config: Config) -> int:
    """The configuration as JSON in memory, for one child; positioned at its start."""
    fd = os.memfd_create("querytap-settings")
    with os.fdopen(os.dup(fd), "wb") as file:
        file.write(json.dumps(to_mapping(config)).encode())
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
