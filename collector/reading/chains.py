"""Whether the objects of an instance are all there, follow one another, and hold what its ledger says. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from collector.archive.layout import Header
from collector.archive.names import PrunedName
from collector.reading.shedding import shed_seconds


@dataclass(slots=True)
class Totals:
    """What an instance's objects say together."""

    instance: str
    objects: int = 0
    damaged: int = 0
    surplus: int = 0
    """Copies, and what is not in its place."""
    pruned_through: int = 0
    """The last one that was removed on purpose, 0 for none."""
    first_sequence: int = 0
    last_sequence: int = 0
    first_ns: int = 1 << 64
    last_ns: int = 0
    statements: int = 0
    runs: int = 0
    lost: int = 0
    """Statements that the ledgers of the runs say were lost, for all of the time of these."""
    dropped: int = 0
    """Packets that they say the kernel dropped."""
    shed_s: float = 0.0
    """For so long they say that less was captured than is configured, to keep to the budget."""


@dataclass(frozen=True, slots=True)
class _Last:
    path: str
    sequence: int
    hash: str
    """In hexadecimal digits, as far as it is known."""


class Chain:
    """The objects of one instance, taken in the order of their sequence; holds sums, and nothing of each object.

    Of those that were *pruned* none needs to be here, and all behind them do. *begins*: what is taken begins with the
    oldest that are here.
    """

    def __init__(self, instance: str, pruned: PrunedName | None = None, *, begins: bool = True) -> None:
        self.totals = Totals(instance, pruned_through=pruned.through if pruned else 0)
        self.hosts: set[str] = set()
        self._pruned = None if pruned is None else _Last("", pruned.through, pruned.hash_start)
        self._begins = begins
        self._last: _Last | None = None
        self._run: _Run | None = None

    def add(self, path: str, header: Header, digest: bytes | None) -> Iterator[str]:
        """Take an object, whose hash is None where it is cut; what does not fit comes back."""
        totals = self.totals
        self.hosts.add(header.host)
        if (surplus := self._surplus(path, header.sequence, digest)) is not None:
            totals.surplus += 1
            yield surplus
            return
        totals.first_ns = min(totals.first_ns, header.first_ns)
        totals.last_ns = max(totals.last_ns, header.last_ns)
        totals.statements += statements_of(header)
        totals.shed_s += shed_seconds(header.ledger)
        yield from self._follow(_Last(path, header.sequence, digest.hex() if digest else ""), header.previous)
        if header.sequence <= totals.pruned_through:
            return  # a leftover
        if self._run is None or self._run.name != header.run:
            yield from self.end_run()
            self._run = _Run(header)
        else:
            self._run.add(header)
        for number, worker in workers_of(header.ledger):
            for fault in _faults(worker):
                yield f"object {header.sequence}: the ledger of worker {number} does not balance: {fault}"

    def add_damaged(self, path: str, sequence: int) -> Iterator[str]:
        """Take an object that only its name tells of."""
        self.totals.damaged += 1
        yield from self._follow(_Last(path, sequence, ""), None)

    def end_run(self) -> Iterator[str]:
        """No more of a run comes: where its ledger and its objects differ."""
        run, self._run = self._run, None
        if run is None:
            return
        self.totals.runs += 1
        self.totals.lost += sum_of(run.last.ledger, "statements", "lost")
        self.totals.dropped += sum_of(run.last.ledger, "packets", "dropped")
        told = stored(run.last.ledger) - run.before
        if told != run.held:
            yield (
                f"the ledger of run {run.name} counts {told} statements stored from object {run.first} to"
                f" {run.last.sequence}, the objects here hold {run.held}"
            )

    def _surplus(self, path: str, sequence: int, digest: bytes | None) -> str | None:
        if self._last is None or sequence > self._last.sequence:
            return None
        if sequence < self._last.sequence:
            return f"object {sequence} is not in its place: {path}"
        if digest is not None and digest.hex() == self._last.hash:
            return f"object {sequence} is there twice: {self._last.path} and {path}"
        return None

    def _follow(self, this: _Last, previous: bytes | None) -> Iterator[str]:
        last, self._last = self._last, this
        self.totals.objects += 1
        self.totals.last_sequence = this.sequence
        if last is None:
            self.totals.first_sequence = this.sequence
        if (last.sequence if last else 0) < self.totals.pruned_through:
            if this.sequence <= self.totals.pruned_through:
                return  # a leftover: those beside it may be gone
            last = self._pruned if last or self._begins else None
        if last is None:
            return
        if problem := missing(last.sequence, this.sequence):
            yield problem
        elif this.sequence == last.sequence:
            yield (
                f"two objects have the number {this.sequence}: {last.path} and {this.path};"
                " the instance was set back to an earlier state, or somebody else has its key"
            )
        elif previous is not None and not previous.hex().startswith(last.hash):
            yield (
                f"object {this.sequence} does not follow object {last.sequence}:"
                " it names another one as that before it, which is not here"
            )


class _Run:
    """The sums over neighbouring objects of one run."""

    def __init__(self, header: Header) -> None:
        begins = header.ledger.get("objects_stored") == 1
        self.name = header.run
        self.first = header.sequence
        self.last = header
        self.held = statements_of(header)
        self.before = 0 if begins else stored(header.ledger) - self.held

    def add(self, header: Header) -> None:
        """The next object of it."""
        self.held += statements_of(header)
        self.last = header


def missing(before: int, after: int) -> str:
    """The objects that should be between two sequences, for people; empty for none."""
    if after - before == 2:
        return f"object {before + 1} is missing"
    return f"objects {before + 1} to {after - 1} are missing" if after - before > 2 else ""


def statements_of(header: Header) -> int:
    """How many statements a header says its object holds."""
    return _number(header.counts.get("statements"))


def stored(ledger: Mapping[str, Any]) -> int:
    """Statements that were put into objects since the run began, whatever became of these."""
    return sum_of(ledger, "statements", "shipped") + sum_of(ledger, "statements", "evicted")


def sum_of(ledger: Mapping[str, Any], part: str, name: str) -> int:
    """A count over all workers."""
    parts = [worker.get(part) for _, worker in workers_of(ledger)]
    return sum(_number(each.get(name)) for each in parts if isinstance(each, Mapping))


def workers_of(ledger: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The part of each worker."""
    workers = ledger.get("workers")
    for number, worker in workers.items() if isinstance(workers, Mapping) else ():
        if isinstance(worker, Mapping):
            yield str(number), worker


def _faults(worker: Mapping[str, Any]) -> Iterator[str]:
    faults = worker.get("faults")
    yield from map(str, faults) if isinstance(faults, list) else ()
    statements = worker.get("statements")
    if isinstance(statements, Mapping):
        parts = sum(_number(statements.get(name)) for name in ("shipped", "filtered", "lost", "evicted", "held"))
        if _number(statements.get("decoded")) != parts:
            yield f"{statements.get('decoded')} statements decoded, {parts} accounted for"


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
