"""From the first check to the last word: starts the tree, keeps it running, stops it in order."""

from __future__ import annotations

import datetime as dt
import logging
import os
import select
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from collector import child, identities, jsonfile, log, places, privileges
from collector.capture import telling
from collector.capture.namespaces import OWN
from collector.capture.sandbox import Sandbox, sandbox
from collector.config import Config, StartError
from collector.config.changes import Live, take_over
from collector.config.reloading import Outcome, Read, reload
from collector.identities import SERVICE, WORKERS
from collector.privileges import Identity
from collector.supervisor import folders, tree
from collector.supervisor.folders import Held
from collector.supervisor.order import CAPTURE, StopOrder
from collector.supervisor.restarting import Fault, GiveUp, Restart, RestartPolicy
from collector.supervisor.tree import Child, Tree

READY: Final = "querytap is recording"

_START_POLL_S: Final = 0.05
_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

# It opens packet sockets, and looks whose sockets are the servers'; it has given that up when it forks workers.
_AT_CAPTURES_START: Final = (privileges.CAP_NET_RAW, privileges.CAP_SYS_PTRACE, privileges.CAP_DAC_READ_SEARCH)
_TO_ENTER: Final = (privileges.CAP_SYS_ADMIN,)
"""The same, where it is told to enter other network namespaces."""

_log = logging.getLogger(__name__)


def supervise(config: Config, read: Read) -> int:
    """Record until SIGTERM or SIGINT; 0 when everything then went as it should, else 1.

    On SIGHUP *read* gives the configuration anew. The caller has blocked it, so that one that comes early waits. Raises
    StartError when a right, a server, a user or a folder is missing, or when capture cannot be kept running.
    """
    log.to_stderr("run")
    _check_rights()
    walls = sandbox(config.workers.sandbox)
    user, worker_user = _identities(config)
    held = folders.lock(config)
    try:
        folders.prepare(config, held, user, worker_user)
        user = _within_reach(config, held, user, worker_user)
        privileges.hold(
            privileges.CAP_SETUID,
            privileges.CAP_SETGID,
            privileges.CAP_SETPCAP,  # to empty the bounding sets of those it starts
            privileges.CAP_KILL,
            passed_on=[*_AT_CAPTURES_START, *(_TO_ENTER if _enters_others(config) else ())],
        )
        return Supervisor(config, read=read, held=held, user=user, worker_user=worker_user, walls=walls).run()
    finally:
        try:
            folders.clear(held)
        finally:
            held.close()


class Supervisor:
    """The main loop around a Tree."""

    def __init__(
        self, config: Config, *, read: Read, held: Held, user: Identity, worker_user: Identity, walls: Sandbox
    ) -> None:
        self._config = config
        self._read = read
        self._reloaded: dict[str, Any] | None = None
        self._terminal = _has_terminal()
        self._walls = walls
        self._run_folder = held.run
        self._tree = Tree(config, user, worker_user)
        self._users = {"aggregator": user, "workers": worker_user}
        self._stop = StopOrder(config.process.stop_timeout_s)
        self._restarts = RestartPolicy(self._tree.children)
        self._restarted: dict[str, str] = {}
        """When each that ended was last started again."""
        self._given_up: str | None = None
        self._code = 0
        self._let_go = False
        self._captures = False
        """Whether every worker was at work once."""
        self._capture = telling.State()

    def run(self) -> int:
        """Start all, wait until they record, go on until told to stop, stop."""
        # What is ignored stays so, but for SIGHUP: nohup has it ignored so that the end of a terminal ends nothing.
        stopping = [number for number in _STOP_SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
        self._wakeup = child.signals((*stopping, signal.SIGHUP, signal.SIGCHLD))
        self._start_all()
        began = time.monotonic()
        ready = False
        while self._tree.alive() or not self._stop.requested:
            now = time.monotonic()
            if not ready and not self._stop.requested:
                ready = self._look_whether_ready(now - began)
            self._wait(now, starting=not ready)
            self._turn(time.monotonic(), ready=ready)
        if self._given_up is not None:
            raise StartError(self._given_up)
        self._last_word()
        return self._code

    def _start_all(self) -> None:
        now = time.monotonic()
        _log.info("workers are sealed by: %s", self._walls.text)
        for what in self._walls.missing:
            _log.warning("this kernel has not %s: workers are not sealed by it (workers.sandbox)", what)
        for name in self._tree.children:
            self._tree.start(name, now)
        self._note()

    def _look_whether_ready(self, waited_s: float) -> bool:
        if self._captures and self._status_path.exists():
            chosen = self._config.capture
            ports = self._capture.ports
            _log.info(
                "%s: port%s %s, %s, %d worker%s",
                READY,
                "" if len(ports) == 1 else "s",
                ", ".join(map(str, ports)),
                f"interfaces {', '.join(chosen.interfaces)}" if chosen.interfaces else "all interfaces",
                self._config.worker_total,
                "" if self._config.worker_total == 1 else "s",
            )
            return True
        bound_s = self._config.process.start_timeout_s
        if waited_s > bound_s:
            self._give_up(
                f"the processes did not get ready within {bound_s} s (process.start_timeout_s), see the messages above"
            )
        return False

    def _wait(self, now: float, *, starting: bool) -> None:
        times = [one.due for one in self._tree.children.values()]
        times += [self._stop.due(now, self._tree.alive()), now + _START_POLL_S if starting else None]
        soonest = min((at for at in times if at is not None), default=None)
        outputs = [one.output for one in self._tree.children.values() if one.output >= 0]
        reading = [self._wakeup.fileno(), self._tree.state.fileno(), *outputs]
        writing = [fd for one in self._tree.children.values() for fd in one.untold]
        # Only here does SIGHUP come in: of however many there are, none fills the socket that tells of SIGTERM too.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGHUP,))
        select.select(reading, writing, [], None if soonest is None else max(soonest - now, 0))
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGHUP,))

    def _turn(self, now: float, *, ready: bool) -> None:
        arrived = child.arrived(self._wakeup)
        for number in arrived:
            if number in _STOP_SIGNALS:
                self._ask_to_stop(now)
        if signal.SIGHUP in arrived:
            self._hang_up(now)
        self._hear()
        for one in self._tree.children.values():
            one.tell_rest()
            log.print_lines(one.lines(now, log.log_time()))
            code = one.ended()
            if code is not None:
                log.print_lines(one.bury(now, log.log_time()))
                self._ended(one, code, now, ready=ready)
            elif one.due is not None and now >= one.due and not self._stop.requested:
                self._tree.start(one.name, now, generation=self._restarts.totals[one.name])
                self._note()
        for order in self._stop.next(now, self._tree.alive()):
            if order.signal_number == signal.SIGKILL:
                _log.error("%s did not end in time and is killed", order.name)
                self._code = 1
            self._tree.children[order.name].send(order.signal_number)
        if self._stop.requested and CAPTURE not in self._tree.alive() and not self._let_go:
            self._let_go = True
            self._tree.let_go()

    def _hear(self) -> None:
        """Take what capture tells of its state."""
        while True:
            try:
                said = self._tree.state.recv(telling.MOST_BYTES)
            except BlockingIOError:
                return
            try:
                found = telling.unpack(said)
            except ValueError as error:
                _log.error("capture told what is not its state: %s", error)
                continue
            self._captures = self._captures or found.ready
            if found != self._capture:
                self._capture = found
                self._note()

    def _hang_up(self, now: float) -> None:
        """SIGHUP: the terminal that it was started on is gone, or the configuration is to be read again."""
        if self._terminal and not _has_terminal():
            self._ask_to_stop(now)
        elif not self._stop.requested:
            self._reload()

    def _reload(self) -> None:
        outcome = reload(self._config, self._read)
        try:
            self._tree.adopt(outcome.config)
        except StartError as error:
            outcome = Outcome(config=self._config, problems=(str(error),))
        for line in outcome.lines():
            _log.log(*line)
        self._config = outcome.config
        take_over(self, LIVE)
        if outcome.changed and self._capture.waiting:  # it hears nothing before it has found what it waits for
            _log.info("capture is started anew, as it waits for %s", self._capture.waiting)
            self._capture = replace(self._capture, waiting="")
            self._tree.children[CAPTURE].send(signal.SIGTERM)
        self._reloaded = {"time": _time(), **outcome.as_map()}
        self._note()

    def bound_stop(self) -> None:
        """Bound a stop as is said now."""
        self._stop.bound(self._config.process.stop_timeout_s)

    def _ask_to_stop(self, now: float) -> None:
        if not self._stop.requested:
            _log.info("stopping: what has been captured is brought to the archive; ask again to hurry")
        self._stop.request(now)
        for one in self._tree.children.values():
            one.due = None

    def _ended(self, one: Child, code: int, now: float, *, ready: bool) -> None:
        lived_s = now - one.started
        decided = self._restarts.after(one.name, code, lived_s, ready=ready, stopping=self._stop.requested)
        if isinstance(decided, Fault):
            _log.error("%s", decided.text)
            self._code = 1
        elif isinstance(decided, GiveUp):
            self._give_up(decided.reason)
        elif isinstance(decided, Restart):
            _log.error("%s", decided.text)
            one.due = now + decided.delay_s
            self._restarted[one.name] = _time()

    def _give_up(self, reason: str) -> None:
        if self._given_up is None:
            self._given_up = reason
            self._ask_to_stop(time.monotonic())

    def _note(self) -> None:
        """Write what `querytap status` shows of the processes."""
        root = os.geteuid()
        written: dict[str, Any] = {
            "pid": os.getpid(),
            "ports": list(self._capture.ports),
            "capture": list(self._capture.notes),
            "interfaces": list(self._config.capture.interfaces),
            "restarts": self._restarts.totals,
            "restarted": self._restarted,
            "users": {role: user.name for role, user in self._users.items()},
            "kept_user": [role for role, user in self._users.items() if user.uid == root],
            "one_user": len({user.uid for user in self._users.values()}) == 1,
            "sealed_by": self._walls.text,
            "unsealed_by": list(self._walls.missing),
            "waiting": self._capture.waiting,
            "warnings": list(self._capture.warnings),
            "reload": self._reloaded,
        }
        jsonfile.replace(self._run_folder, places.PROCESSES_FILE, written)

    def _last_word(self) -> None:
        """Say what came of what was captured, as the aggregator's last status has it."""
        try:
            status = jsonfile.read(self._status_path) or {}
            ledger = status["ledger"].values()
            lines = [(name, sum(worker["statements"][name] for worker in ledger)) for name in _LEFT]
            in_ring = sum(worker["packets"]["in_ring"] for worker in ledger)
            dropped = sum(worker["packets"]["dropped"] for worker in ledger)
        except (OSError, ValueError, KeyError, TypeError) as error:
            _log.error("stopped; the aggregator left no status that says what was left (%s)", type(error).__name__)
            self._code = 1
            return
        statements = ", ".join(f"{count} {name}" for name, count in lines)
        _log.info("stopped: statements: %s; packets: %d dropped by the kernel, %d left", statements, dropped, in_ring)

    @property
    def _status_path(self) -> Path:
        return places.aggregator_run(self._config.paths.run) / places.STATUS_FILE


LIVE: Final[Live[Supervisor]] = {"process.stop_timeout_s": Supervisor.bound_stop}

_LEFT: Final = ("decoded", "shipped", "filtered", "lost", "evicted", "held")


def _time() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")


def _has_terminal() -> bool:
    """Whether one of our standard streams is a terminal that has not hung up."""
    return any(os.isatty(fd) for fd in range(3))


def _enters_others(config: Config) -> bool:
    return any(place != OWN for place in config.capture.namespaces)


def _check_rights() -> None:
    if not privileges.has_capability(privileges.CAP_NET_RAW):
        raise StartError(
            "capturing packets needs the capability CAP_NET_RAW, which this process has not",
            "run as root: sudo querytap run",
        )


def _identities(config: Config) -> tuple[Identity, Identity]:
    """Users of the aggregator (and monitor) and of the workers."""
    user = identities.identity(config.process.user, SERVICE)
    worker_user = identities.identity(config.process.worker_user, WORKERS)
    if user.uid != os.geteuid() and not tree.can_run(user):
        user = _stay(config, user, "cannot read the programs of querytap")
    if user.uid == worker_user.uid:
        _log.warning(
            'workers and aggregator are one user, "%s": a worker that is taken over has the archive and the key that'
            " signs it in its reach",
            user.name,
        )
    return user, worker_user


def _within_reach(config: Config, held: Held, user: Identity, worker_user: Identity) -> Identity:
    """The user of the aggregator, who must be able to write to its folders."""
    own = [places.aggregator_run(config.paths.run), places.aggregator_state(config.paths.state)]
    archive = places.local_folder(places.archive_place(config.store.url, config.paths.state))
    missing = None if user.uid == os.geteuid() else tree.unwritable(user, [*own, *([archive] if archive else [])])
    if missing is not None:
        user = _stay(config, user, f"cannot reach {missing}")
        folders.prepare(config, held, user, worker_user)
    return user


def _stay(config: Config, user: Identity, reason: str) -> Identity:
    """Whom the aggregator runs as where the user that was meant cannot do it; StartError when it was asked for."""
    if config.process.user:
        raise StartError(f'user "{user.name}" {reason}', "let process.user read and reach them, or leave it out")
    present = identities.present()
    if not tree.can_run(present):
        raise StartError(
            f'without its capabilities "{present.name}" cannot read the programs of querytap either',
            "install querytap where everyone can read it: not below a home folder that is closed to others",
        )
    _log.warning('user "%s" %s: the aggregator stays "%s", without capabilities', user.name, reason, present.name)
    return present
