"""The capture process: opens the rings, forks the workers, wakes them, counts, and stops in order.

Single-threaded, and no ZeroMQ, key or network here: it forks.
"""

from __future__ import annotations

import argparse
import logging
import os
import select
import signal
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from collector import child, privileges
from collector.capture import statistics
from collector.capture.calibration import calibrated
from collector.capture.opening import notes_on, open_sites, settings_of
from collector.capture.outbox import Outbox
from collector.capture.restarts import worker_restart
from collector.capture.sandbox import Sandbox, sandbox
from collector.capture.site import Site
from collector.capture.slots import Slot
from collector.capture.stopping import Step, StopPlan
from collector.capture.telling import Teller, teller_over
from collector.channel import Costs, Reach
from collector.child import EXIT_CANNOT_START, EXIT_INTERFACE_GONE, Changes, changes_over
from collector.config import Config, ConfigError, StartError
from collector.config.changes import Live, take_over
from collector.log import log_time, print_lines
from collector.outlet import Inherited
from collector.pace import Pace
from collector.privileges import Identity

_STATISTICS_S: Final = 1.0
_STILL_S: Final = 10.0
"""While no packet comes."""
_LOOK_S: Final = 1.0
_STILL_LOOK_S: Final = 3.0
_PENDING_S: Final = 0.02
_STARTING_S: Final = 0.05
_QUIET_WORKER_S: Final = 10.0
_QUIET_AGAIN_S: Final = 60.0
_MOST_FAILED_STARTS: Final = 5
_FLUSH_S: Final = 2.0
_WORKERS_SHARE: Final = 0.6  # of the time to stop; the aggregator needs the rest

_log = logging.getLogger(__name__)


class Place(NamedTuple):
    """Where a capture process stands among those before and after it."""

    first: bool = False
    """There was none before: what cannot be had at its start is an error."""
    goes_on: bool = False
    """The rings are those of the one before, whose workers have ended."""
    lasting: bool = False
    """The rings outlive it, and the next one goes on with them."""


class Capture:
    """Everything after the rings are open. run() returns when all workers have ended."""

    costs: Costs | None = None
    """What a packet costs this host in the kernel, for the aggregator; None where nobody knows."""

    def __init__(
        self,
        *,
        config: Config,
        sites: Sequence[Site],
        user: Identity,
        sandbox: Sandbox,
        outbox: Outbox,
        teller: Teller,
        changes: Changes,
        place: Place,
    ) -> None:
        self._config = config
        self._changes = changes
        self._sites = sites
        self._slots = [slot for site in sites for slot in site.slots]
        self._settings = {slot: settings_of(config, site.served) for site in sites for slot in site.slots}
        self._traffic: dict[Slot, dict[str, tuple[int, int]]] = {slot: {} for slot in self._slots}
        """Packets by interface, as the aggregator was told."""
        self._user = user
        self._sandbox = sandbox
        self._outbox = outbox
        self._teller = teller
        self._ready = False
        self._place = place
        self._stop = StopPlan(config.capture.block_timeout_ms / 1000, config.process.stop_timeout_s * _WORKERS_SHARE)
        self._done = False
        self._code = 0
        self._pace = Pace(_STATISTICS_S, _STILL_S)
        self._told: list[tuple[int, int, list[int]]] = []
        self._quiet = dict.fromkeys(self._slots, _QUIET_WORKER_S)
        """How long each worker may stand still before that is said."""
        self._look_due = 0.0
        self._wakeup = child.signals((signal.SIGTERM, signal.SIGCHLD))
        self._epoll = select.epoll()
        self._epoll.register(self._wakeup, select.EPOLLIN)
        for slot in self._slots:
            self._epoll.register(slot.socket.fd, slot.socket.EVENTS)
        for fd in (*(site.fd for site in sites), *changes.fds, *([outbox.fd] if outbox.fd >= 0 else [])):
            self._epoll.register(fd, select.EPOLLIN)

    def run(self) -> int:
        """Capture until SIGTERM; the exit code comes back."""
        now = time.monotonic()
        for slot in self._slots:
            if self._place.goes_on:
                slot.settle()
                self._send(slot, ended=True)
                slot.next_incarnation()
            slot.fork(self._user, self._sandbox, self._settings[slot], now)
        self._look(now)
        while not self._done:
            for fd, events in self._epoll.poll(self._timeout(time.monotonic())):
                self._event(fd, events)
            self._turn(time.monotonic())
        return self._code

    def _timeout(self, now: float) -> float:
        times = [self._pace.due, self._stop.due()]
        for slot in self._slots:
            times += [slot.due, slot.look_at]
        if any(site.pending for site in self._sites):
            times.append(now + _PENDING_S)
        if not self._stop.requested:
            times.append(self._look_due)
        if not self._ready:
            times.append(now + _STARTING_S)  # the heartbeat that says that a worker has started brings no event
        return max(min(at for at in times if at is not None) - now, 0.0)

    def _event(self, fd: int, events: int) -> None:
        if fd == self._wakeup.fileno():
            self._signals(child.arrived(self._wakeup))
            return
        if any(fd == site.fd for site in self._sites):
            self._look_due = 0.0
            return
        if fd in self._changes.fds:
            self._reload()
            return
        if fd == self._outbox.fd:
            self._obey(time.monotonic())
            self._report(time.monotonic())
            return
        slot = next(slot for slot in self._slots if slot.socket.fd == fd)
        if events & select.EPOLLERR:
            number = slot.socket.take_error()
            if number:
                _log.warning("ring of worker %d: %s", slot.number, os.strerror(number))
        self._pace.stir()
        slot.noticed(time.monotonic())

    def _obey(self, now: float) -> None:
        """Take over what the aggregator has let pass."""
        order = self._outbox.order()
        if order is None or self._stop.requested:
            return
        for site in self._sites:
            site.obey(order, now)
            site.adapt(now)

    def _reload(self) -> None:
        """Take over what the supervisor sent."""
        before = notes_on(self._config.capture)
        watched, config = self._changes.fds, self._changes.latest()
        if not self._changes.fds:
            self._epoll.unregister(watched[0])
        if config is None:
            return
        self._config = config
        take_over(self, LIVE)
        notes = tuple(note for note in self._teller.state.notes if note not in before)
        self._teller.tell(notes=notes + notes_on(config.capture))

    def choose(self) -> None:
        """Select packets by the present configuration."""
        for site in self._sites:
            site.choose(self._config.capture)
        self._look_due = 0.0

    def hand_on(self) -> None:
        """Have workers hand blocks on at the present age."""
        for slot in self._slots:
            slot.hand_on_after(self._config.batch.block_age_ms * 1_000_000)

    def bound_stop(self) -> None:
        """Bound a stop as is said now."""
        self._stop.bound(self._config.process.stop_timeout_s * _WORKERS_SHARE)

    def _signals(self, numbers: bytes) -> None:
        now = time.monotonic()
        for number in numbers:
            if number == signal.SIGTERM:
                self._stop.request(now)
                self._teller.stopping(self._config.process.stop_timeout_s)
        for slot in self._slots:
            if slot.pid and (status := _ended(slot.pid)) is not None:
                self._worker_ended(slot, status, now)

    def _worker_ended(self, slot: Slot, status: int, now: float) -> None:
        slot.pid = 0
        print_lines(slot.lines(now, log_time(), last=True))
        slot.settle()
        slot.crashes += not self._stop.draining
        self._send(slot, ended=True)
        if self._stop.draining:
            return
        code = os.waitstatus_to_exitcode(status)
        found = worker_restart(
            slot.restarts,
            now - slot.started,
            self._config.capture.block_timeout_ms / 1000,
            killed=code == -signal.SIGKILL,
        )
        manner = child.manner(code)
        _log.error("worker %d %s, the next one starts in %.2f s", slot.number, manner, found.delay_s)
        if self._place.first and not self._ready and slot.restarts.quick >= _MOST_FAILED_STARTS:
            raise StartError(f"worker {slot.number} ended {slot.restarts.quick} times at its start, see above")
        slot.next_incarnation(afresh=found.afresh)
        slot.due = now + found.delay_s
        slot.soonest = now + found.soonest_s

    def _turn(self, now: float) -> None:
        """What is due, whatever woke us."""
        self._teller.alive()
        for slot in self._slots:
            if slot.due is not None and now >= slot.due:
                slot.fork(self._user, self._sandbox, self._settings[slot], now)
            if slot.look_at is not None and now >= slot.look_at:
                slot.look(now)
                self._epoll.modify(slot.socket.fd, slot.socket.EVENTS)
        if not self._ready and all(slot.heartbeat_ns for slot in self._slots):
            self._ready = True
            self._teller.tell(ready=True)
        if not self._stop.requested:
            if now >= self._look_due:
                self._look(now)
            for site in self._sites:
                if site.pending:
                    site.adapt(now)
        if now >= self._pace.due:
            self._report(now)
        step = self._stop.next(now, sum(slot.wanted for slot in self._slots))
        if step is not None:
            self._carry_out(step)

    def _look(self, now: float) -> None:
        """Follow servers and interfaces."""
        self._look_due = now + (_STILL_LOOK_S if self._pace.still else _LOOK_S)
        for site in self._sites:
            site.look(now)
            site.adapt(now)
            if lost := site.lost():
                # What is back is another one, and a member of a group cannot be bound anew: a new group is needed.
                _log.error("%s: capture starts anew", lost)
                self._code = EXIT_INTERFACE_GONE
                self._stop.request(now)
        self._teller.tell(
            ports=tuple(dict.fromkeys(port for site in self._sites for port in site.ports)),
            warnings=tuple(dict.fromkeys(warning for site in self._sites for warning in site.warnings)),
        )

    def _report(self, now: float) -> None:
        for slot in self._slots:
            print_lines(slot.lines(now, log_time()))
            if not self._leaves:
                slot.count()
                self._send(slot)
            self._watch(slot, now)
        self._tell_reach(now)
        told = [(slot.incarnation, slot.totals.passed, slot.counters) for slot in self._slots]
        self._pace.told(now, changed=told != self._told)
        self._told = told

    def _tell_reach(self, now: float) -> None:
        if self.costs is not None:
            self._outbox.send(self.costs)
        found = [counted for site in self._sites if (counted := site.reach(now)) is not None]
        if found:
            kept, every, kept_connections, connections = (sum(figures) for figures in zip(*found, strict=True))
            self._outbox.send(Reach(kept=kept, all=every, kept_connections=kept_connections, connections=connections))

    def _watch(self, slot: Slot, now: float) -> None:
        """Say once a minute that a worker stands still."""
        quiet_s = now - slot.heartbeat_ns / 1e9
        if not slot.pid or not slot.heartbeat_ns or quiet_s <= _QUIET_WORKER_S:
            self._quiet[slot] = _QUIET_WORKER_S
        elif quiet_s > self._quiet[slot]:
            self._quiet[slot] = quiet_s + _QUIET_AGAIN_S
            _log.warning("worker %d has not moved for %d s", slot.number, quiet_s)

    @property
    def _leaves(self) -> bool:
        """Whether it ends and leaves the rings as they are. Of what stays in them the next process tells."""
        return self._place.lasting and self._stop.requested and self._code == 0

    def _send(self, slot: Slot, *, ended: bool = False, final: bool = False) -> None:
        site = next(site for site in self._sites if slot in site.slots)
        counted = site.traffic(slot)
        for one in statistics.traffic(slot.number, slot.incarnation, counted, self._traffic[slot], final=final):
            self._outbox.send(one)
        self._traffic[slot] = counted
        self._outbox.send(
            statistics.record(
                slot.number,
                slot.incarnation,
                slot.totals_taken if self._leaves else slot.totals,
                slot.counters,
                ended=ended,
                final=final,
                taken=slot.taken,
                before=slot.taken_before,
                crashes=slot.crashes,
            )
        )

    def _carry_out(self, step: Step) -> None:
        if step is Step.SHUT:
            # Where the rings go on, this is the time in which all that was told of is handed over to the workers.
            for site in () if self._leaves else self._sites:
                site.shut()
        elif step is Step.DRAIN:
            for slot in self._slots:
                slot.drain()
                if slot.due is not None:  # who has just ended has a successor, which empties the ring
                    slot.due = min(slot.due, slot.soonest)
        elif step is Step.LEAVE:
            for slot in self._slots:
                slot.leave()
                if slot.pid:
                    _log.warning(
                        "worker %d does not come to the end of its ring and leaves the rest there", slot.number
                    )
        elif step is Step.KILL:
            for slot in self._slots:
                slot.due = None
                if slot.pid:
                    _log.error("worker %d did not end in time and is killed", slot.number)
                    os.kill(slot.pid, signal.SIGKILL)
        else:
            self._finish()

    def _finish(self) -> None:
        final = self._code == 0 and not self._leaves  # otherwise another capture process is to follow
        for slot in self._slots:
            if not self._leaves:
                slot.count()
            self._send(slot, ended=True, final=final)
        deadline = time.monotonic() + _FLUSH_S
        while self._outbox.waiting and time.monotonic() < deadline:
            time.sleep(0.02)
            self._outbox.flush()
        if self._outbox.waiting:
            _log.error("the aggregator did not take the final statistics")
        self._done = True


LIVE: Final[Live[Capture]] = {
    "capture.ports": Capture.choose,
    "capture.x_ports": Capture.choose,
    "capture.keep_percent": Capture.choose,
    "batch.block_age_ms": Capture.hand_on,
    "process.stop_timeout_s": Capture.bound_stop,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as `python -m collector.capture`, which the supervisor does."""
    parser = argparse.ArgumentParser(prog="python -m collector.capture", description=__doc__)
    parser.add_argument("--settings-fd", type=int, required=True, help="memfd with the resolved configuration as JSON")
    parser.add_argument("--statistics-fd", type=int, required=True, help="SOCK_SEQPACKET socket to the aggregator")
    parser.add_argument("--changes-fd", type=int, default=-1, help="SOCK_SEQPACKET socket: changed configurations")
    parser.add_argument("--state-fd", type=int, default=-1, help="SOCK_SEQPACKET socket to the supervisor")
    parser.add_argument("--parent", type=int, default=0, help="process with which it ends")
    parser.add_argument("--generation", type=int, default=0, help="how many capture processes there were before")
    parser.add_argument("--worker-ids", type=_ids, required=True, metavar="UID:GID", help="whom the workers run as")
    options = parser.parse_args(arguments)
    try:
        config = child.begin("capture", options.settings_fd)
        if options.parent:  # asked for before exec, it is forgotten where exec gives capabilities
            privileges.end_with_parent(signal.SIGTERM, options.parent)
        teller = teller_over(options.state_fd)
        capture = Capture(
            config=config,
            sites=open_sites(config, teller, options.generation),
            user=options.worker_ids,
            sandbox=sandbox(config.workers.sandbox),
            outbox=Outbox(Inherited(options.statistics_fd)),
            teller=teller,
            changes=changes_over(options.changes_fd),
            place=Place(first=options.generation == 0),
        )
        capture.costs = calibrated(config)
        privileges.keep_only(
            privileges.CAP_SETUID, privileges.CAP_SETGID, privileges.CAP_SETPCAP, privileges.CAP_KILL
        )  # what forking workers takes; the sockets are open
        return capture.run()
    except (ConfigError, StartError) as error:
        _log.error("cannot start: %s", str(error).replace("\n", "; "))  # a message, not a bug
        return EXIT_CANNOT_START


def _ids(text: str) -> Identity:
    uid, _, gid = text.partition(":")
    return Identity(int(uid), int(gid), f"uid {uid}")


def _ended(pid: int) -> int | None:
    """The wait status of a child that has ended, None while it has not."""
    found, status = os.waitpid(pid, os.WNOHANG)
    return status if found else None
