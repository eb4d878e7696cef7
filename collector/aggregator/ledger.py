"""Where every packet and every decoded statement went, per worker. Pure: joins what capture and the blocks say.

The two sums of a worker:

    packets passed by the filter = dropped by the kernel + taken, by what they were + lost with a worker or capture
                                   + held (taken, its block not here yet) + still in the ring
    statements decoded           = shipped + filtered + lost + evicted + held

Kernel and page figures come with capture's statistics, the rest from the blocks' counters and from the store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from collector.aggregator import tallies
from collector.aggregator.tallies import PACKETS, Generation, Worker
from collector.archive.heads import BlockHead
from collector.channel import Statistics, Traffic

_SHOWN_LIMIT: Final = 1 << 62  # what a header can hold; only a worker that lies reaches it


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLedger:
    """The two sums of one worker, as of now."""

    passed: int
    dropped: int
    taken: Mapping[str, int]
    packets_lost: int
    packets_held: int
    in_ring: int
    ring_freezes: int
    decoded: int
    shipped: int
    filtered: int
    lost: int
    evicted: int
    held: int
    encrypted: Mapping[str, int]
    """Of TLS: connections, and bytes in them, of which nothing can be decoded; in no sum."""
    blocks: int
    blocks_lost: int
    interfaces: Mapping[str, Mapping[str, int]]
    """Packets taken, `in` and `out`, by interface, as the workers last told."""
    crashes: int
    """Processes of the worker that ended without having been told to."""
    captures_lost: int
    """Capture processes that ended without their last figures: of each, up to a second is in no sum."""
    incarnation: int
    final: bool
    faults: tuple[str, ...]
    """What does not add up; empty when the ledger is balanced."""

    def as_map(self) -> dict[str, Any]:
        """The ledger as it stands in headers and in the status."""
        return _clamped(self._map())

    def _map(self) -> dict[str, Any]:
        return {
            "packets": {
                "passed": self.passed,
                "dropped": self.dropped,
                "taken": {name.removeprefix(PACKETS): value for name, value in self.taken.items()},
                "lost": self.packets_lost,
                "held": self.packets_held,
                "in_ring": self.in_ring,
            },
            "statements": {
                "decoded": self.decoded,
                "shipped": self.shipped,
                "filtered": self.filtered,
                "lost": self.lost,
                "evicted": self.evicted,
                "held": self.held,
            },
            "encrypted": dict(self.encrypted),
            "blocks": self.blocks,
            "blocks_lost": self.blocks_lost,
            "ring_freezes": self.ring_freezes,
            "interfaces": {name: dict(counts) for name, counts in self.interfaces.items()},
            "crashes": self.crashes,
            "captures_lost": self.captures_lost,
            "incarnation": self.incarnation,
            "final": self.final,
            "faults": list(self.faults),
        }


class Ledger:
    """Counts since the supervisor started, with `dump` and `restore` over a restart of the aggregator.

    Promises: a lost block, a lost worker, a lost batch and a lost aggregator each show in the sums; no figure is below
    0; `balanced` is false when figures that come from different processes contradict each other.
    """

    def __init__(self, workers: int) -> None:
        self._workers = {number: Worker() for number in range(workers)}
        self.malformed = 0
        """Messages from workers that were not blocks."""
        self.repeated = 0
        """Blocks with a sequence that was there already."""

    def take_record(self, record: Statistics | Traffic) -> bool:
        """Take a record of capture; false for a worker that does not exist."""
        if isinstance(record, Statistics):
            return self.take_statistics(record)
        worker = self._workers.get(record.worker)
        if worker is None:
            return False
        worker.generation(record.incarnation).take_traffic(record)
        return True

    def take_statistics(self, record: Statistics) -> bool:
        """Take a record of capture; false for a worker that does not exist."""
        worker = self._workers.get(record.worker)
        if worker is None:
            return False
        worker.spoken_of = True
        worker.begin(record.incarnation)
        worker.final |= record.final
        worker.generation(record.incarnation).take(record)
        incarnation = worker.incarnation(record.incarnation)
        incarnation.page_packets = max(incarnation.page_packets, record.page_packets)
        incarnation.page_statements = max(incarnation.page_statements, record.page_statements)
        worker.retire(record.incarnation)
        return True

    def take_block(self, head: BlockHead) -> bool:
        """Take the head of a block that came; false for one to throw away: seen before, or of no known process."""
        worker = self._workers.get(head.worker)
        if worker is None:
            self.malformed += 1
            return False
        if not worker.accepts(head.incarnation):
            self.malformed += 1
            return False
        if not worker.incarnation(head.incarnation).take(head):
            self.repeated += 1
            return False
        if head.incarnation <= worker.announced:  # a number that only the worker speaks of proves nothing yet
            worker.settle(head.incarnation)
        return True

    def batch_stored(self, statements: Mapping[int, int]) -> None:
        """A batch with so many statements by worker is in the store."""
        for number, count in statements.items():
            self._workers[number].stored += count

    def batch_discarded(self, statements: Mapping[int, int]) -> None:
        """A batch was given up before it reached the store."""
        for number, count in statements.items():
            self._workers[number].discarded += count

    def batch_missing(self, statements: Mapping[int, int]) -> None:
        """A batch that counts as stored is not in the store after all."""
        self.batch_stored({number: -count for number, count in statements.items()})
        self.batch_discarded(statements)

    def batch_evicted(self, statements: Mapping[int, int]) -> None:
        """A stored batch of this run was removed to keep the archive within its bounds."""
        for number, count in statements.items():
            if number in self._workers:
                self._workers[number].evicted += count

    def settle(self) -> None:
        """Say that nothing is to come any more: what is not accounted for is lost."""
        for worker in self._workers.values():
            worker.abandon()

    def started(self) -> bool:
        """Whether capture has spoken of each worker: its ring is open."""
        return all(worker.spoken_of for worker in self._workers.values())

    def statistics_final(self) -> bool:
        """Whether capture has said its last for each worker."""
        return all(worker.final for worker in self._workers.values())

    def complete(self) -> bool:
        """Whether all there is to come has come: each worker's last statistics and last block."""
        return all(_complete(worker) for worker in self._workers.values())

    def view(self, sealing: Mapping[int, int] | None = None) -> dict[int, WorkerLedger]:
        """The sums of each worker; the statements of a batch that is being *sealed* count as shipped."""
        return {
            number: _sums(worker, (sealing or {}).get(number, 0)) for number, worker in sorted(self._workers.items())
        }

    def balanced(self) -> bool:
        """Whether nothing contradicts; after the end, whether everything is accounted for as well."""
        return not any(worker.faults for worker in self.view().values())

    def dump(self, storing: Mapping[int, int]) -> dict[str, Any]:
        """All counts as plain values, as they are once a batch with the statements *storing* is stored."""
        workers = {number: tallies.dump(worker) for number, worker in self._workers.items()}
        for number, count in storing.items():
            workers[number]["stored"] += count
        return {"workers": workers, "malformed": self.malformed, "repeated": self.repeated}

    def restore(self, values: Mapping[str, Any]) -> None:
        """Go on from a dump after a way through JSON; what had come by then and was not stored is lost.

        Raises KeyError, TypeError or ValueError, and is unchanged then.
        """
        loaded = {int(number): tallies.load(worker) for number, worker in values["workers"].items()}
        if loaded.keys() != self._workers.keys():
            raise ValueError("of another number of workers")
        self.malformed, self.repeated = int(values["malformed"]), int(values["repeated"])
        for worker in loaded.values():
            worker.spoken_of = False
            worker.discarded = worker.received() - worker.stored
        self._workers = loaded


def _complete(worker: Worker) -> bool:
    newest = worker.incarnation(worker.announced)
    if not worker.final and not worker.generation(worker.announced).ended:
        return False
    return newest.finished or (newest.unreported() == 0 and newest.unclassified() == 0)


def _sums(worker: Worker, sealing: int) -> WorkerLedger:
    incarnations = list(worker.all())
    taken: Counter[str] = Counter()
    encrypted = Counter(dict.fromkeys(tallies.ENCRYPTED, 0))
    unclassified = {True: 0, False: 0}
    unreported = {True: 0, False: 0}
    for incarnation in incarnations:
        taken.update(incarnation.classes())
        encrypted.update(incarnation.encrypted())
        unclassified[incarnation.settled] += incarnation.unclassified()
        unreported[incarnation.settled] += incarnation.unreported()
    missed = sum(incarnation.missed for incarnation in incarnations)
    stored = worker.stored + sealing
    waiting = worker.received() - stored - worker.discarded
    rings = list(worker.generations.values())
    evicted = min(worker.evicted, stored)
    return WorkerLedger(
        passed=sum(ring.passed + ring.ahead() for ring in rings),
        dropped=sum(ring.dropped for ring in rings),
        taken=dict(taken),
        packets_lost=unclassified[True] + sum(ring.in_ring() for ring in rings if ring.gone),
        packets_held=unclassified[False],
        in_ring=sum(ring.in_ring() for ring in rings if not ring.gone),
        ring_freezes=sum(ring.freezes for ring in rings),
        decoded=sum(incarnation.decoded() for incarnation in incarnations),
        shipped=stored - evicted,
        filtered=sum(incarnation.filtered() for incarnation in incarnations),
        lost=missed + unreported[True] + worker.discarded,
        evicted=evicted,
        held=unreported[False] + max(0, waiting),
        encrypted=dict(encrypted),
        blocks=sum(incarnation.blocks for incarnation in incarnations),
        blocks_lost=sum(incarnation.blocks_lost for incarnation in incarnations),
        interfaces=_interfaces(rings),
        crashes=sum(ring.crashes for ring in rings),
        captures_lost=sum(ring.abandoned() for ring in rings),
        incarnation=worker.announced,
        final=worker.final,
        faults=tuple(_faults(worker, waiting)),
    )


def _interfaces(rings: Iterable[Generation]) -> dict[str, dict[str, int]]:
    found: dict[str, list[int]] = {}
    for ring in rings:
        tallies.add_traffic(found, ring.traffic)
    return {name: {"in": incoming, "out": outgoing} for name, (incoming, outgoing) in sorted(found.items())}


def _clamped(values: dict[str, Any]) -> dict[str, Any]:
    clamped = dict(values)
    for name, value in values.items():
        if isinstance(value, dict):
            clamped[name] = _clamped(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            clamped[name] = max(-_SHOWN_LIMIT, min(value, _SHOWN_LIMIT))
    return clamped


def _faults(worker: Worker, waiting: int) -> list[str]:
    faults = []
    rings = list(worker.generations.values())
    told = [ring for ring in rings if ring.ended and (ring.gone or worker.final)]
    miscounted = sum(incarnation.miscounted for incarnation in worker.all())
    surplus = sum(incarnation.surplus() for incarnation in worker.all())
    if miscounted:
        faults.append(f"blocks differ from their own counters by {miscounted} statements")
    if surplus:
        faults.append(f"{surplus} more statements came than were decoded")
    if waiting < 0:
        faults.append(f"{-waiting} more statements were stored than came")
    if worker.evicted > worker.stored:
        faults.append("more statements were evicted than were stored")
    if ahead := sum(ring.ahead() for ring in told):
        faults.append(f"workers took {ahead} more packets than the kernel passed")
    if worker.final and (left := sum(ring.in_ring() for ring in rings if not ring.gone)):
        faults.append(f"{left} packets were left in the ring")
    return faults
