"""The aggregator's main loop: blocks, statistics and samples in; batches and the status file out."""

from __future__ import annotations

import datetime as dt
import logging
import os
import signal
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from collector import child
from collector.aggregator.admission import refusal
from collector.aggregator.batches import Batch, Limits
from collector.aggregator.bounds import bounds_of
from collector.aggregator.budget import Budget
from collector.aggregator.ending import Ending
from collector.aggregator.inlet import Inlet
from collector.aggregator.intake import Intake
from collector.aggregator.keys import key_warnings, recipients
from collector.aggregator.ledger import Ledger, WorkerLedger
from collector.aggregator.moments import Moments
from collector.aggregator.samples import SampleError, read_sample
from collector.aggregator.shipping import Origin, Shipper
from collector.aggregator.status import EVERY_NS, PASSING, STILL_NS, Rates, build_status, figures, write_status
from collector.aggregator.store import LocalFolder
from collector.aggregator.upload import Uploader
from collector.archive.heads import HeadError, read_head
from collector.archive.keyfile import identity
from collector.channel import Costs, Reach, unpack
from collector.child import Changes
from collector.config import Config, StartError
from collector.config.changes import Live, take_over
from collector.notify import Manager
from collector.pace import Pace
from collector.places import aggregator_run

_MIB: Final = 1 << 20
_MS: Final = 1_000_000
_NS: Final = 1_000_000_000
_CHEAP_ZSTD: Final = -3
"""Level of zstd where nothing is to be had more cheaply: a negative one, which gives up some of what it would find."""
_MOST_RECORDS: Final = 256  # of statistics, before the workers have their turn

_log = logging.getLogger("aggregator")


class Aggregator:
    """Holds the parts together; what they decide is theirs.

    Promises: bytes from other processes never end it; it returns once the last batch is stored or given up.
    """

    _told_to_end = False
    _trouble_since = ""
    _refused = ""
    """Why the recipients are not those that the configuration names; empty when they are."""
    _connect_at_ns: int | None = None
    """When connections that are missing are tried again."""

    def __init__(
        self,
        *,
        config: Config,
        origin: Origin,
        ledger: Ledger,
        shipper: Shipper,
        store: LocalFolder,
        uploader: Uploader | None,
        intake: Intake,
        budget: Budget,
        statistics: Inlet,
        samples: Inlet,
        changes: Changes,
        manager: Manager,
    ) -> None:
        self._config = config
        self._changes = changes
        self._origin = origin
        self._ledger = ledger
        self._shipper = shipper
        self._store = store
        self._uploader = uploader
        self._intake = intake
        self._budget = budget
        self._inlets: Sequence[Inlet] = (statistics, samples)
        self._statistics, self._manager = statistics, manager
        self._batch = Batch(_limits(config), config.batch.zstd_level, time.monotonic_ns())
        self._ending = Ending(config.process.stop_timeout_s * _NS)
        self._began = dt.datetime.now(dt.UTC).isoformat()
        self._moments = Moments()
        self._rates = Rates()
        self._sample: Mapping[str, Any] = {}
        self._warned: set[str] = set()
        self._pace = Pace(EVERY_NS, STILL_NS)
        self._lasting: Mapping[str, Any] = {}
        self._wakeup = child.signals((signal.SIGTERM,))
        watched = [inlet.fd for inlet in self._inlets if inlet.fd >= 0] + ([uploader.fd] if uploader else [])
        for descriptor in (self._wakeup.fileno(), *watched, *changes.fds):
            intake.watch(descriptor)

    @property
    def place(self) -> str:
        """The archive, for people."""
        return self._store.place if self._uploader is None else self._uploader.place

    def _hear_signals(self) -> None:
        """Told to end: with what is here; where capture, a service too, has ended before, with all that it left."""
        if signal.SIGTERM not in child.arrived(self._wakeup):
            return
        if self._statistics.lasting and self._statistics.fd < 0 and not self._told_to_end:
            self._ending.begin(time.monotonic_ns())
        else:
            self._ending.hurry()
        self._told_to_end = True

    @property
    def _goes_on(self) -> bool:
        """Whether capture records while nobody takes its blocks, until the next aggregator does."""
        return self._statistics.lasting and self._statistics.fd >= 0

    def begin(self) -> None:
        """Say that it takes what comes."""
        self._connect(time.monotonic_ns())
        self._manager.status(f"seals for {self.place}")
        self._manager.ready()

    def run(self) -> None:
        """The loop."""
        now_ns = time.monotonic_ns()
        while not self._ending.over(now_ns, complete=self._ledger.complete()):
            # Before capture has spoken it is not known which process of a worker is the present one.
            unheard = not (self._ledger.started() or self._ending.begun)
            self._intake.pause(paused=self._shipper.full or unheard)
            if self._shipper.full:
                self._ending.heard(now_ns)  # silence says nothing while nobody listens
            workers, descriptors = self._intake.poll(self._timeout_ms(now_ns))
            now_ns = time.monotonic_ns()
            self._hear(descriptors, now_ns)
            for worker in workers:
                self._take_blocks(worker, now_ns)
            self._turn(now_ns)
        self._finish()

    def _hear(self, descriptors: Sequence[int], now_ns: int) -> None:
        self._hear_signals()
        for inlet in self._inlets:
            if inlet.fd in descriptors:
                self._take_records(inlet, now_ns)
                self._pace.meet(now_ns)
        for descriptor in self._changes.fds:
            if descriptor in descriptors:
                self._reload(descriptor)

    def _turn(self, now_ns: int) -> None:
        retry_at_ns = self._shipper.retry_at_ns()
        if retry_at_ns is not None and now_ns >= retry_at_ns:
            self._shipper.push(now_ns)
        if self._batch.due(now_ns) and not self._shipper.full:
            self._ship(now_ns, final=False)
        self._upload(now_ns)
        if self._connect_at_ns is not None and now_ns >= self._connect_at_ns:
            self._connect(now_ns)
        if now_ns >= self._pace.due:
            self._tell(now_ns, self._state())
            self._manager.alive()

    def _upload(self, now_ns: int) -> None:
        if self._uploader is not None:
            self._uploader.turn(now_ns)
            for lost in self._uploader.take_damaged():
                self._shipper.note_missing(lost)

    def _connect(self, now_ns: int) -> None:
        for inlet in self._inlets:
            if inlet.connect():
                self._intake.watch(inlet.fd)
        apart = any(inlet.lasting and inlet.fd < 0 for inlet in self._inlets)
        self._connect_at_ns = now_ns + EVERY_NS if apart else None

    def _reload(self, descriptor: int) -> None:
        """Take over what the supervisor sent; the key files are read again, whether their names have changed or not."""
        config = self._changes.latest()
        if not self._changes.fds:
            self._intake.forget(descriptor)
        if config is not None:
            self._config = config
            take_over(self, LIVE)
            self._pace.stir()

    def adapt_batch(self) -> None:
        """Gather batches as is said now."""
        # Never less than before: what was gathered under the bounds before is still held.
        bounds_of(self._config).apply(len(self._ledger.view()), lower=False)
        self._batch.adapt(_limits(self._config), self._zstd_level)

    def adapt_budget(self) -> None:
        """Keep to the budget that is said now."""
        self._budget.adapt(self._config)

    @property
    def _zstd_level(self) -> int:
        configured = self._config.batch.zstd_level
        return min(configured, _CHEAP_ZSTD) if self._budget.level.cheap else configured

    def _govern(self, now_ns: int, ledger: Mapping[int, WorkerLedger]) -> None:
        """Measure what querytap costs, and have capture and compression do what that allows."""
        passed = sum(worker.passed for worker in ledger.values())
        recording = self._ledger.started() and not self._ending.begun
        decision = self._budget.measure(now_ns, time.time_ns(), passed, recording=recording)
        if decision is not None and decision.changed:
            self._batch.adapt(_limits(self._config), self._zstd_level)
        self._statistics.answer(self._budget.order().pack())

    def adapt_store(self) -> None:
        """Keep to the bounds of store and stop that are said now, and reach the store as is said now."""
        self._ending.bound(self._config.process.stop_timeout_s * _NS)
        self._store.adapt(self._config)
        if self._uploader is None:
            return
        bounds_of(self._config).apply(len(self._ledger.view()), lower=False)
        try:
            self._uploader.adapt(self._config)
        except StartError as error:
            _log.error("the store is used as before: %s; %s", error.message, error.remedy)

    def adapt_recipients(self) -> None:
        """Seal for those who are named now; where one's key cannot be used, for those from before."""
        try:
            found = recipients(self._config)
        except StartError as error:
            self._refused = f"the archive is sealed for the same readers as before: {error.message}; {error.remedy}"
            _log.error("%s", self._refused)
            return
        self._refused = ""
        if found != self._shipper.recipients:
            _log.info("the archive is sealed for %s from here on", ", ".join(identity(key).hex() for key in found))
            self._shipper.recipients = found

    def _state(self) -> str:
        if self._ending.begun:
            return "stopping"
        return "running" if self._ledger.started() else "starting"

    def _timeout_ms(self, now_ns: int) -> int:
        times = [int(self._pace.due), self._shipper.retry_at_ns(), self._ending.deadline_ns(), self._connect_at_ns]
        if not self._shipper.full:
            times.append(self._batch.deadline_ns())
        if self._uploader is not None:
            times.append(self._uploader.due_ns())
        soonest = min(moment for moment in times if moment is not None)
        return max(0, -(-(soonest - now_ns) // _MS))

    def _take_records(self, inlet: Inlet, now_ns: int) -> None:
        for _ in range(_MOST_RECORDS):
            record = inlet.take()
            if record is None:
                return
            if not record:
                self._closed(inlet, now_ns)
                return
            if inlet is self._statistics:
                self._take_statistics(record, now_ns)
            else:
                self._take_sample(record)

    def _take_statistics(self, record: bytes, now_ns: int) -> None:
        try:
            told = unpack(record)
            if isinstance(told, Costs | Reach):
                self._budget.take(told)
                return
            known = self._ledger.take_record(told)
        except ValueError as error:
            self._warn(f"capture sent something else than statistics: {error}")
            return
        if not known:
            self._warn("capture sent statistics of a worker that does not exist")
        if self._ledger.statistics_final() and not self._statistics.lasting:
            self._ending.begin(now_ns)

    def _take_sample(self, record: bytes) -> None:
        try:
            self._sample = read_sample(record)
            self._batch.add_sample(record)
        except SampleError as error:
            self._warn(f"the monitor sent something else than a sample: {error}")

    def _closed(self, inlet: Inlet, now_ns: int) -> None:
        self._intake.forget(inlet.fd)
        inlet.close()
        if inlet.lasting:
            self._connect_at_ns = now_ns
        if inlet is self._statistics and not inlet.lasting:
            if not self._ledger.statistics_final():
                _log.warning("capture is gone before its last statistics")
            self._ending.begin(now_ns)

    def _take_blocks(self, worker: int, now_ns: int) -> None:
        for message in self._intake.receive(worker):
            self._ending.heard(now_ns)
            self._pace.stir()
            if message is None:
                self._malformed(worker, "not a head and a body in one frame")
                continue
            head_bytes, body = message
            try:
                head = read_head(head_bytes, len(body))
            except HeadError as error:
                self._malformed(worker, str(error))
                continue
            refused = refusal(head, worker)
            if refused is not None:
                self._malformed(worker, refused)
            elif self._ledger.take_block(head):
                self._batch.add(head, head_bytes, body, now_ns)
                self._budget.take_block(head)
                if self._batch.due(now_ns) and not self._shipper.full:
                    self._ship(now_ns, final=False)
            else:
                self._warn(f"worker {worker}: a block that was there before, or of an unknown process")
            if head.final:
                self._intake.acknowledge(worker, head.incarnation)

    def _malformed(self, worker: int, reason: str) -> None:
        self._ledger.malformed += 1
        self._warn(f"worker {worker}: {reason}")

    def _warn(self, message: str) -> None:
        if message not in self._warned and len(self._warned) < _MOST_RECORDS:  # once each: a fault repeats
            self._warned.add(message)
            _log.warning("%s", message)

    def _ship(self, now_ns: int, *, final: bool) -> None:
        realtime_ns = time.time_ns()
        self._shipper.ship(self._batch.close(now_ns, realtime_ns), final=final, now_ns=now_ns, realtime_ns=realtime_ns)

    def _finish(self) -> None:
        now_ns = time.monotonic_ns()
        for worker in self._ledger.view():
            self._take_blocks(worker, now_ns)
        final = not self._goes_on
        if final:
            self._ledger.settle()
        self._manager.stopping(self._config.process.stop_timeout_s)
        self._ship(now_ns, final=final)
        self._empty(now_ns)
        self._shipper.give_up()
        if self._uploader is not None:
            self._uploader.end()
        ledger = self._ledger.view()
        for number, sums in ledger.items():
            for fault in sums.faults:
                _log.warning("ledger of worker %d: %s", number, fault)
        self._tell(time.monotonic_ns(), "stopped")
        _log.info(
            "ended: %d objects stored, %d given up; %d statements decoded, %d shipped, %d lost",
            self._shipper.objects.stored,
            self._shipper.objects.discarded,
            sum(sums.decoded for sums in ledger.values()),
            sum(sums.shipped + sums.evicted for sums in ledger.values()),
            sum(sums.lost for sums in ledger.values()),
        )

    def _empty(self, now_ns: int) -> None:
        """Bring to the store what waits; what is in the spool is safe, and is waited for a quarter of the time."""
        uploads_until_ns = now_ns + self._config.process.stop_timeout_s * _NS // 4
        while not self._ending.expired(now_ns):
            uploading = self._uploader is not None and self._uploader.going and now_ns < uploads_until_ns
            if not (self._shipper.waiting or uploading):
                return
            time.sleep(0.1)
            self._hear_signals()
            now_ns = time.monotonic_ns()
            self._shipper.push(now_ns)
            self._upload(now_ns)

    def _tell(self, now_ns: int, state: str) -> None:
        """Write the status file."""
        ledger = self._ledger.view()
        self._govern(now_ns, ledger)
        time_now = dt.datetime.now(dt.UTC).isoformat()
        self._moments.note(time_now, figures(ledger, self._shipper.objects))
        self._trouble_since = (self._trouble_since or time_now) if self._shipper.trouble else ""
        status = build_status(
            time=time_now,
            began=self._began,
            moments=self._moments.as_map(),
            identity={"instance": self._origin.instance, "host": self._origin.host, "pid": os.getpid()},
            ledger=ledger,
            rates=self._rates.sample(now_ns, ledger),
            batches={
                **self._shipper.state(),
                "blocks_gathered": self._batch.blocks,
                "malformed_messages": self._ledger.malformed,
            },
            store={
                "place": self.place,
                "size_bytes": self._store.size_bytes(),
                "trouble": self._shipper.trouble,
                "trouble_since": self._trouble_since,
                "full": self._shipper.full,
                **({} if self._uploader is None else {"uploads": self._uploader.state()}),
            },
            budget={**self._budget.as_map(), "measured": self._sample.get("tree")},
            host=self._sample,
            warnings=[*key_warnings(self._config), *filter(None, [self._refused])],
            state=state,
        )
        lasting = {name: value for name, value in status.items() if name not in PASSING}
        # Load that was shed is taken on again in time where that is looked at in time.
        self._pace.told(now_ns, changed=lasting != self._lasting or self._budget.level.cheap)
        self._lasting = lasting
        try:
            write_status(aggregator_run(self._config.paths.run), status)
        except OSError as error:
            self._warn(f"the status file cannot be written: {error.strerror}")


LIVE: Final[Live[Aggregator]] = {
    "batch.max_mib": Aggregator.adapt_batch,
    "batch.max_age_s": Aggregator.adapt_batch,
    "batch.zstd_level": Aggregator.adapt_batch,
    "store.region": Aggregator.adapt_store,
    "store.credentials_file": Aggregator.adapt_store,
    "store.ca_file": Aggregator.adapt_store,
    "store.timeout_s": Aggregator.adapt_store,
    "store.uploads": Aggregator.adapt_store,
    "store.upload_rate_kib": Aggregator.adapt_store,
    "store.local_max_mib": Aggregator.adapt_store,
    "store.min_free_percent": Aggregator.adapt_store,
    "process.stop_timeout_s": Aggregator.adapt_store,
    "seal.recipients": Aggregator.adapt_recipients,
    "budget.cpu_percent": Aggregator.adapt_budget,
    "budget.cpu_percent_of_host": Aggregator.adapt_budget,
}


def _limits(config: Config) -> Limits:
    return Limits(config.batch.max_mib * _MIB, int(config.batch.max_age_s * _NS))
