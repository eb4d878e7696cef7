"""Takes closed batches to the store: seals them in a chain, keeps what the store refuses, counts what is given up."""

from __future__ import annotations

import dataclasses
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from collector.aggregator.batches import ClosedBatch
from collector.aggregator.chain import Chain, Link
from collector.aggregator.ledger import Ledger
from collector.aggregator.resuming import Objects, keep
from collector.aggregator.seal import seal
from collector.aggregator.store import DiskFullError, Evicted, Store, TransportError, write_worker_counts
from collector.archive.hashes import object_hash
from collector.archive.layout import HASH_BYTES, Header
from collector.archive.names import ObjectName, write_name

MOST_WAITING: Final = 4
"""Sealed objects kept while the store refuses; then blocks are no longer taken, and the workers feel it."""
RETRY_NS: Final = 1_000_000_000

_log = logging.getLogger("aggregator")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What is the same in every header of a run."""

    instance: str
    public_key: bytes
    host: str
    boot: str
    run: str
    under: str
    """The supervisor: another aggregator under it goes on with this run."""
    software: str


@dataclass(frozen=True, slots=True)
class _Sealed:
    name: str
    data: bytes
    statements: Mapping[int, int]
    link: Link
    final: bool


class Shipper:
    """Seals batches and stores them in order.

    Promises: an object is stored at most once; one that is not stored is counted as lost in the ledger and shows as
    missing in the chain.
    """

    def __init__(
        self,
        *,
        origin: Origin,
        key: Ed25519PrivateKey,
        recipients: Sequence[bytes],
        store: Store,
        chain: Chain,
        ledger: Ledger,
        clock: Callable[[], Mapping[str, Any]],
        objects: Objects,
        uploads: Callable[[], Mapping[str, Any]] | None,
        budget: Callable[[int], Mapping[str, Any]] | None = None,
    ) -> None:
        self._origin = origin
        self._key = key
        self.recipients = recipients
        """Raw public keys for which objects are sealed from here on."""
        self._store = store
        self._chain = chain
        self._ledger = ledger
        self._clock = clock
        self._uploads = uploads
        self._budget = budget
        self._waiting: deque[_Sealed] = deque()
        self._link = chain.link
        self._retry_at_ns = 0
        self._evicting = ""
        """The object that was counted as evicted last, whether it is gone already or not."""
        self._behind = False
        """Whether something was counted that the chain's file does not say yet."""
        self.objects = objects
        self.last_name = ""
        self.trouble = ""
        """Why the store does not take objects at the moment; empty when it does."""

    @property
    def waiting(self) -> int:
        """Sealed objects that are not stored yet."""
        return len(self._waiting)

    @property
    def full(self) -> bool:
        """Whether no batch can be taken until the store takes one."""
        return len(self._waiting) >= MOST_WAITING

    def retry_at_ns(self) -> int | None:
        """When `push` is to be called again, monotonic; None when nothing waits."""
        return self._retry_at_ns if self._waiting else None

    def ship(self, batch: ClosedBatch, *, final: bool, now_ns: int, realtime_ns: int) -> None:
        """Seal *batch* and try to store it, after those that wait."""
        header = self._header(batch, final=final, realtime_ns=realtime_ns)
        data = seal(header, batch.groups, self.recipients, self._key)
        digest = object_hash(data)
        name = ObjectName(header.instance, header.first_ns, header.last_ns, header.sequence, digest.hex()[:16])
        self._link = Link(header.sequence, digest)
        self._waiting.append(_Sealed(write_name(name), data, batch.statements, self._link, final))
        self.push(now_ns)

    def push(self, now_ns: int) -> None:
        """Store what waits, oldest first; stops at the first that is refused, until RETRY_NS later."""
        while self._waiting:
            try:
                self._put(self._waiting[0])
            except TransportError as error:
                self._refused(error, now_ns)
                if error.retry:
                    return
                self._discard(self._waiting.popleft())
                continue
            sealed = self._waiting.popleft()
            self._ledger.batch_stored(sealed.statements)
            self.objects.stored += 1
            self.last_name = sealed.name
            if self.trouble:
                _log.info("the store takes objects again")
                self.trouble = ""

    def give_up(self) -> None:
        """Discard what waits; counted."""
        while self._waiting:
            self._discard(self._waiting.popleft())

    def note_missing(self, lost: Evicted) -> None:
        """An object that was stored turns out to be damaged: what was in it is lost."""
        self.objects.note_discarded(lost.name)
        if lost.header is not None and lost.header.run == self._origin.run:
            self.objects.stored -= 1
            self._ledger.batch_missing(lost.statements(self._origin.run))

    def state(self) -> dict[str, Any]:
        """For the status: what became of the objects."""
        return {
            "stored": self.objects.stored,
            "waiting": self.waiting,
            "discarded": self.objects.discarded,
            "discarded_ns": self.objects.discarded_ns,
            "evicted": self.objects.evicted,
            "evicted_ns": self.objects.evicted_ns,
            "last_object": self.last_name,
        }

    def _put(self, sealed: _Sealed) -> None:
        for evicted in self._store.make_room(len(sealed.data)):
            if evicted.name != self._evicting:
                self._count_evicted(evicted, sealed)
        if self._behind or self._chain.link.sequence < sealed.link.sequence:
            self._chain.advance(sealed.link, self._beside(sealed))
            self._behind = False
        self._store.put(sealed.name, sealed.data)

    def _beside(self, sealed: _Sealed) -> dict[str, Any]:
        return keep(
            under=self._origin.under,
            run=self._origin.run,
            name=sealed.name,
            statements=sealed.statements,
            ledger=self._ledger,
            objects=self.objects,
            evicting=self._evicting,
            final=sealed.final,
        )

    def _count_evicted(self, evicted: Evicted, sealed: _Sealed) -> None:
        """Count it durably before it goes, so that it does not count as shipped after a crash in between."""
        before = dataclasses.replace(self.objects), self._evicting
        statements = evicted.statements(self._origin.run)
        self.objects.note_evicted(evicted.name)
        self._ledger.batch_evicted(statements)
        self._evicting = evicted.name
        try:
            self._chain.advance(sealed.link, self._beside(sealed))
        except DiskFullError:
            self._behind = True  # what goes makes the room for it
        except TransportError:
            objects, self._evicting = before
            self.objects.evicted, self.objects.evicted_ns = objects.evicted, objects.evicted_ns
            self._ledger.batch_evicted({worker: -count for worker, count in statements.items()})
            raise
        _log.info("removed the oldest object, to keep the archive within its bounds: %s", evicted.name)

    def _refused(self, error: TransportError, now_ns: int) -> None:
        if str(error) != self.trouble:
            self.trouble = str(error)
            _log.warning("the store does not take an object: %s", error)
        self._retry_at_ns = now_ns + RETRY_NS

    def _discard(self, sealed: _Sealed) -> None:
        self.objects.note_discarded(sealed.name)
        self._ledger.batch_discarded(sealed.statements)
        _log.error("given up: object %s with %d statements", sealed.name, sum(sealed.statements.values()))

    def _header(self, batch: ClosedBatch, *, final: bool, realtime_ns: int) -> Header:
        sealing = dict(batch.statements)
        for sealed in self._waiting:
            for worker, count in sealed.statements.items():
                sealing[worker] = sealing.get(worker, 0) + count
        return Header(
            instance=self._origin.instance,
            public_key=self._origin.public_key,
            host=self._origin.host,
            boot=self._origin.boot,
            run=self._origin.run,
            sequence=self._link.sequence + 1,
            previous=self._link.hash,
            first_ns=batch.first_ns,
            last_ns=batch.last_ns,
            sealed_ns=realtime_ns,
            clock=self._clock(),
            counts={
                "blocks": batch.blocks,
                "statements": sum(batch.statements.values()),
                "workers": write_worker_counts(batch.statements),
                "content_bytes": batch.content_bytes,
            },
            ledger=self._ledger_map(sealing, final=final, realtime_ns=realtime_ns),
            software=self._origin.software,
            content_key_hash=bytes(HASH_BYTES),
            frames=(),
        )

    def _ledger_map(self, sealing: Mapping[int, int], *, final: bool, realtime_ns: int) -> dict[str, Any]:
        return {
            "final": final,
            "workers": {str(number): worker.as_map() for number, worker in self._ledger.view(sealing).items()},
            "malformed": self._ledger.malformed,
            "repeated": self._ledger.repeated,
            "objects_stored": self.objects.stored + len(self._waiting) + 1,
            "objects_discarded": self.objects.discarded,
            "objects_evicted": self.objects.evicted,
            "discarded_ns": self.objects.discarded_ns,
            "evicted_ns": self.objects.evicted_ns,
            **({} if self._uploads is None else {"uploads": self._uploads()}),
            **({} if self._budget is None else {"budget": self._budget(realtime_ns)}),
        }
