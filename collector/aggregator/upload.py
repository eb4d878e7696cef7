"""Brings the objects of the spool to a remote store, in threads of its own; the main loop decides all."""

from __future__ import annotations

import datetime as dt
import logging
import os
import queue
import random
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from collector.aggregator.disk import trouble
from collector.aggregator.gate import Gate
from collector.aggregator.resuming import Objects
from collector.aggregator.spool import Spool
from collector.aggregator.store import Evicted, damage
from collector.archive.failures import Failure, failure, is_there_already
from collector.archive.remote import AccessError, access_of, open_remote
from collector.config import Config, StartError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_KIB: Final = 1 << 10
_RUNTIME_THREADS: Final = "TOKIO_WORKER_THREADS"  # of obstore's runtime, which else has one for each processor

_log = logging.getLogger("aggregator")


@dataclass(frozen=True, slots=True)
class _Job:
    store: ObjectStore
    path: Path
    name: str
    size: int
    began_ns: int


@dataclass(frozen=True, slots=True)
class _Damage:
    what: str


@dataclass(frozen=True, slots=True)
class _Outcome:
    job: _Job
    trouble: Failure | _Damage | OSError | BaseException | None = None
    """Failure: of the store; _Damage: of the object; OSError: it could not be read; another: a fault of ours. None: it
    is stored."""
    was_there: bool = False


class Uploader:
    """Sends what the spool holds, with create-only writes: each object is in the store once, however often it is tried.

    Promises: nothing here waits for the store, and no object leaves the spool before the store has it. One that is
    damaged is set aside and not sent. There are never more threads than `store.uploads`, and one of obstore's runtime.
    `turn` is to be called when `fd` is readable and at `due_ns`.
    """

    def __init__(self, spool: Spool, config: Config, objects: Objects) -> None:
        os.environ.setdefault(_RUNTIME_THREADS, "1")
        self.fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.place = config.store.url
        self._spool = spool
        self._config = config
        self._objects = objects
        self._store = _opened(config)
        self._gate = Gate(config.store.uploads, config.store.upload_rate_kib * _KIB)
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[_Outcome] = queue.SimpleQueue()
        self._threads = 0
        self._sent_bytes = 0
        self._were_there = 0
        self._errors: Counter[str] = Counter()
        self._damaged: list[Evicted] = []
        self.trouble = ""
        """Why the store does not take objects at the moment; empty when it does."""
        self._trouble_since = ""

    def adapt(self, config: Config) -> None:
        """Go by other settings; the file of credentials is read again. Raises StartError: all else holds then."""
        self._config = config
        self._gate.adapt(config.store.uploads, config.store.upload_rate_kib * _KIB)
        self._store = _opened(config)

    @property
    def going(self) -> bool:
        """Whether objects are on their way, or wait and the store takes them."""
        return bool(len(self._spool.backlog)) and not self.trouble

    def due_ns(self) -> int | None:
        """When `turn` is to be called, monotonic; None: when `fd` is readable."""
        return self._gate.opens_ns(self._spool.backlog.away) if self._spool.backlog.waiting else None

    def turn(self, now_ns: int) -> None:
        """Take note of what has come back, and send what may go."""
        try:
            os.eventfd_read(self.fd)
        except BlockingIOError:
            pass
        else:
            self._note_outcomes(now_ns)
        backlog = self._spool.backlog
        while (opens_ns := self._gate.opens_ns(backlog.away)) is not None and opens_ns <= now_ns:
            taken = backlog.take()
            if taken is None:
                return
            name, size = taken
            self._gate.began(now_ns, size)
            self._send(_Job(self._store, self._spool.path(name), name, size, now_ns))

    def take_damaged(self) -> list[Evicted]:
        """The objects that were found to be damaged since the last time."""
        damaged, self._damaged = self._damaged, []
        return damaged

    def end(self) -> None:
        """Say what stays behind; what is on its way may get there, and is found to be there at the next start."""
        left = self._spool.backlog
        if len(left):
            _log.warning("%d objects (%d bytes) stay in the spool until the next start", len(left), left.size_bytes)

    def figures(self) -> dict[str, Any]:
        """For ledger and status: what is in the store, what waits, and what went wrong how often. No text of others."""
        return {
            "uploaded": self._objects.uploaded,
            "uploaded_bytes": self._sent_bytes,
            "were_there": self._were_there,
            "spooled": len(self._spool.backlog),
            "spooled_bytes": self._spool.backlog.size_bytes,
            "oldest_ns": self._spool.oldest_ns(),
            "errors": dict(sorted(self._errors.items())),
        }

    def state(self) -> dict[str, Any]:
        """For the status, which does not leave the host: the figures, and why the store takes nothing."""
        return {**self.figures(), "trouble": self.trouble, "trouble_since": self._trouble_since}

    def _send(self, job: _Job) -> None:
        if self._spool.backlog.away > self._threads:
            self._threads += 1
            threading.Thread(target=self._work, name=f"upload-{self._threads}", daemon=True).start()
        self._jobs.put(job)

    def _work(self) -> None:
        while True:
            self._outcomes.put(_upload(self._jobs.get()))
            os.eventfd_write(self.fd, 1)

    def _note_outcomes(self, now_ns: int) -> None:
        while True:
            try:
                outcome = self._outcomes.get_nowait()
            except queue.Empty:
                return
            if outcome.trouble is None:
                self._went(outcome)
            elif isinstance(outcome.trouble, Failure):
                self._refused(outcome.job, outcome.trouble, now_ns)
            elif isinstance(outcome.trouble, _Damage):
                self._errors["damaged"] += 1
                _log.error("%s in the spool is damaged: %s", outcome.job.path, outcome.trouble.what)
                self._damaged.append(self._spool.set_aside(outcome.job.name))
            elif isinstance(outcome.trouble, OSError):
                self._unreadable(outcome.job, outcome.trouble, now_ns)
            else:
                raise outcome.trouble

    def _went(self, outcome: _Outcome) -> None:
        self._gate.went()
        self._objects.uploaded += 1
        if outcome.was_there:
            self._were_there += 1
        else:
            self._sent_bytes += outcome.job.size
        self._spool.stored(outcome.job.name)
        if self.trouble:
            _log.info("%s takes objects again; %d wait in the spool", self.place, len(self._spool.backlog))
            self.trouble = self._trouble_since = ""

    def _refused(self, job: _Job, why: Failure, now_ns: int) -> None:
        self._errors[why.kind] += 1
        self._gate.failed(job.began_ns, now_ns, random.random())  # noqa: S311 - so that hosts do not come at once
        self._spool.backlog.failed(job.name)
        self._say(f"{why.message}; {why.remedy}")
        if why.kind == "denied":
            self._open_anew()

    def _unreadable(self, job: _Job, error: OSError, now_ns: int) -> None:
        self._errors["spool"] += 1
        if isinstance(error, FileNotFoundError):
            self._spool.missing(job.name)
            return
        self._gate.failed(job.began_ns, now_ns, random.random())  # noqa: S311 - as above
        self._spool.backlog.failed(job.name)
        self._say(f"the spool cannot be read: {trouble(job.path, error)}")

    def _open_anew(self) -> None:
        """With what the file of credentials says now."""
        try:
            self._store = _opened(self._config)
        except StartError as error:
            self._say(f"{error.message}; {error.remedy}")

    def _say(self, trouble: str) -> None:
        if trouble != self.trouble:
            _log.warning("%s takes no object: %s", self.place, trouble)
        self._trouble_since = self._trouble_since or dt.datetime.now(dt.UTC).isoformat()
        self.trouble = trouble


def _upload(job: _Job) -> _Outcome:
    """Blocks. Raises nothing: there is nobody in a thread to catch it."""
    from obstore.exceptions import BaseError

    try:
        data = job.path.read_bytes()
    except OSError as error:
        return _Outcome(job, error)
    if found := damage(job.name, data):
        return _Outcome(job, _Damage(found))
    try:
        job.store.put(job.name, data, mode="create", use_multipart=False)
    except (BaseError, OSError) as error:
        if is_there_already(error):
            return _Outcome(job, was_there=True)  # the name has the content's hash: an earlier try went through
        return _Outcome(job, failure(error))
    except BaseException as error:  # noqa: BLE001 - the main loop raises it
        return _Outcome(job, error)
    return _Outcome(job)


def _opened(config: Config) -> ObjectStore:
    try:
        return open_remote(config.store.url, access_of(config.store))
    except AccessError as error:
        raise StartError(error.message, error.remedy) from error
