"""What the ledger keeps: counts of one worker by capture process and by worker process. Pure; adds up, decides nothing.

An incarnation is one process of a worker, a generation one process of capture with its rings: the upper 16 bits of
an incarnation's number name its generation (collector.channel.Statistics).
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from collector.archive.heads import BlockHead
from collector.channel import OTHERS, Statistics, Traffic, first_incarnation, generation_of

PACKETS: Final = "packets_"
DECODED: Final = "statements_decoded"
PACKED: Final = "statements_packed"
FILTERED: Final = "statements_filtered"
ENCRYPTED: Final = {
    "connections": "connections_encrypted",
    "bytes": "encrypted_bytes",
    "answer_bytes": "encrypted_answer_bytes",
}
"""What could not be seen for TLS, and the worker's counter of it."""

MOST_INCARNATIONS: Final = 16  # kept apart, for blocks that come late; older ones are folded into one
MOST_UNTOLD: Final = 8
"""Processes of a worker that come and go before capture tells of one, as it is killed itself each time."""
MOST_GENERATIONS: Final = 4
MOST_INTERFACES: Final = 256  # of one worker; what is beyond counts as others

_OLDER: Final = -1  # where generations are folded that are too many


@dataclass(slots=True)
class Incarnation:
    """One process of a worker, or several that are long gone."""

    page_packets: int = 0
    page_statements: int = 0
    settled: bool = False
    """No block of it is to come any more: what is not accounted for is lost."""
    finished: bool = False
    """Its last block is here."""
    next_sequence: int = 0
    blocks: int = 0
    blocks_lost: int = 0
    received: int = 0
    """Statements in the blocks that came."""
    missed: int = 0
    """Statements in blocks that did not come: where a block's `before` is not the last one's `after`."""
    miscounted: int = 0
    """Statements by which blocks differ from their own counters: a fault in the worker."""
    surplus_before: int = 0
    """The `surplus` of those that are long gone."""
    after: dict[str, int] = field(default_factory=dict)
    """The counters after the last block."""

    def take(self, head: BlockHead) -> bool:
        """Count a block; False for one that was there before."""
        if self.blocks and head.sequence < self.next_sequence:
            return False
        if self.blocks:
            self.blocks_lost += head.sequence - self.next_sequence
        self.missed += max(0, head.before.get(PACKED, 0) - self.after.get(PACKED, 0))
        grown = head.after.get(PACKED, 0) - head.before.get(PACKED, 0)
        self.miscounted += abs(grown - head.statements)
        self.next_sequence = head.sequence + 1
        self.blocks += 1
        self.received += head.statements
        self.after = dict(head.after)
        self.finished |= head.final
        return True

    def fold(self, old: Incarnation) -> None:
        """Add one that is long gone."""
        self.settled = True
        self.page_packets += old.taken()
        self.page_statements += old.decoded()
        self.after = dict(Counter(self.after) + Counter(old.after))
        self.surplus_before += old.surplus()
        for name in ("blocks", "blocks_lost", "received", "missed", "miscounted"):
            setattr(self, name, getattr(self, name) + getattr(old, name))

    def classes(self) -> Counter[str]:
        """Packets by what they were, as far as blocks tell."""
        return Counter({name: value for name, value in self.after.items() if name.startswith(PACKETS)})

    def encrypted(self) -> Counter[str]:
        """What could not be seen for TLS, as far as blocks tell."""
        return Counter({name: self.after.get(counter, 0) for name, counter in ENCRYPTED.items()})

    def taken(self) -> int:
        """Packets taken from the ring."""
        return max(self.page_packets, self.classes().total())

    def unclassified(self) -> int:
        """Packets taken of which no block has told."""
        return self.taken() - self.classes().total()

    def decoded(self) -> int:
        """Statements decoded: as the worker says, and no fewer than are accounted for."""
        return max(self._claimed(), self._accounted())

    def surplus(self) -> int:
        """Statements that came beyond those the worker says it decoded: a fault in it."""
        return self.surplus_before + max(0, self._accounted() - self._claimed())

    def filtered(self) -> int:
        """Statements left out by a rule."""
        return self.after.get(FILTERED, 0)

    def unreported(self) -> int:
        """Statements decoded that no block, come or missed, accounts for."""
        return self.decoded() - self._accounted()

    def _claimed(self) -> int:
        return max(self.page_statements, self.after.get(DECODED, 0))

    def _accounted(self) -> int:
        return self.filtered() + self.received + self.missed


@dataclass(slots=True)
class Generation:
    """One process of capture: a ring, and those who drained it."""

    passed: int = 0
    dropped: int = 0
    freezes: int = 0
    crashes: int = 0
    """Processes of the worker that ended without having been told to."""
    gone: bool = False
    """Capture has been started anew, or ended without its last word: what was left in the ring is lost."""
    newest: int = -1
    """The newest incarnation of which capture has spoken."""
    ended: bool = False
    """That one has ended, and nothing is taken from the ring any more: the kernel's figures are the last ones."""
    folded: Incarnation = field(default_factory=Incarnation)
    folded_to: int = -1
    """The newest incarnation that is folded."""
    abandoned_before: int = 0
    """Of those that are long gone, how many were `abandoned`."""
    incarnations: dict[int, Incarnation] = field(default_factory=dict)
    traffic: dict[str, list[int]] = field(default_factory=dict)
    """Packets taken, in and out, by interface."""

    def take_traffic(self, record: Traffic) -> None:
        """Take the packets of an interface."""
        name = record.interface if record.interface in self.traffic or len(self.traffic) < MOST_INTERFACES else OTHERS
        before = self.traffic.get(name, [0, 0])
        self.traffic[name] = [max(before[0], record.incoming), max(before[1], record.outgoing)]

    def take(self, record: Statistics) -> None:
        """Take the kernel's figures."""
        self.gone = False  # a capture process that takes over the rings goes on where the one before it ended
        if record.incarnation >= self.newest:
            self.newest = record.incarnation
            self.ended = record.ended or record.final
        self.passed = max(self.passed, record.kernel_passed)
        self.dropped = max(self.dropped, record.kernel_dropped)
        self.freezes = max(self.freezes, record.ring_freezes)
        self.crashes = max(self.crashes, record.crashes)

    def incarnation(self, number: int) -> Incarnation:
        """The process of that number; the oldest is folded where there are too many."""
        if number not in self.incarnations:
            self.incarnations[number] = Incarnation()
            if len(self.incarnations) > MOST_INCARNATIONS:
                self.folded_to = min(self.incarnations)
                self.folded.fold(self.incarnations.pop(self.folded_to))
        return self.incarnations[number]

    def fold(self, old: Generation) -> None:
        """Add one that is long gone."""
        self.gone = self.ended = True
        self.abandoned_before += old.abandoned()
        self.passed += old.passed + old.ahead()
        self.dropped += old.dropped
        self.freezes += old.freezes
        self.crashes += old.crashes
        add_traffic(self.traffic, old.traffic)
        for incarnation in old.all():
            self.folded.fold(incarnation)

    def all(self) -> Iterator[Incarnation]:
        """Every process."""
        yield self.folded
        yield from self.incarnations.values()

    def in_ring(self) -> int:
        """Packets passed that nobody has taken, as far as is known."""
        return max(0, self._untaken())

    def ahead(self) -> int:
        """Packets taken that the kernel's figures, which are up to a second old, do not tell of: they passed too."""
        return max(0, -self._untaken())

    def abandoned(self) -> int:
        """How many capture processes ended without telling the kernel's last figures."""
        return self.abandoned_before + (self.gone and not self.ended)

    def _untaken(self) -> int:
        return self.passed - self.dropped - sum(incarnation.taken() for incarnation in self.all())


@dataclass(slots=True)
class Worker:
    """One worker, with all its processes and rings."""

    spoken_of: bool = False
    final: bool = False
    announced: int = 0
    """The newest incarnation of which capture has spoken."""
    stored: int = 0
    discarded: int = 0
    """Statements that came and were given up before they were stored."""
    evicted: int = 0
    generations: dict[int, Generation] = field(default_factory=dict)

    def generation(self, incarnation: int) -> Generation:
        """The generation of that incarnation; the oldest is folded where there are too many."""
        number = generation_of(incarnation)
        if number not in self.generations:
            self.generations[number] = Generation()
            kept = [known for known in self.generations if known != _OLDER]
            if len(kept) > MOST_GENERATIONS:
                older = self.generations.setdefault(_OLDER, Generation())
                older.fold(self.generations.pop(min(kept)))
                self.generations.setdefault(number, Generation())
        return self.generations[number]

    def accepts(self, incarnation: int) -> bool:
        """Whether a block of that incarnation is to be counted, of which perhaps only the worker speaks.

        It is, when capture has spoken of the incarnation or may do so soon. Otherwise whoever makes numbers up could
        push out those that count.
        """
        number = generation_of(incarnation)
        generation = self.generations.get(number)
        if generation is not None and generation.newest >= 0:
            return generation.folded_to < incarnation <= generation.newest + MOST_UNTOLD
        return incarnation == first_incarnation(number) and number - generation_of(self.announced) in {0, 1}

    def incarnation(self, number: int) -> Incarnation:
        """The process of that number."""
        return self.generation(number).incarnation(number)

    def all(self) -> Iterator[Incarnation]:
        """Every process."""
        for generation in self.generations.values():
            yield from generation.all()

    def settle(self, before: int) -> None:
        """Expect no more blocks of incarnations older than *before*."""
        for generation in self.generations.values():
            for number, incarnation in generation.incarnations.items():
                incarnation.settled |= number < before

    def abandon(self) -> None:
        """Neither blocks nor statistics are to come any more."""
        for generation in self.generations.values():
            generation.gone |= not self.final
        for incarnation in self.all():
            incarnation.settled = True

    def begin(self, announced: int) -> None:
        """Capture speaks of incarnation *announced*: a capture process after one that said its last has more to say."""
        self.final &= generation_of(announced) <= generation_of(self.announced)

    def retire(self, announced: int) -> None:
        """Capture speaks of incarnation *announced*: generations before its own are gone."""
        self.announced = max(self.announced, announced)
        for number, generation in self.generations.items():
            generation.gone |= number < generation_of(self.announced)

    def received(self) -> int:
        """Statements that came."""
        return sum(incarnation.received for incarnation in self.all())


def add_traffic(to: dict[str, list[int]], more: Mapping[str, Sequence[int]]) -> None:
    """Add packets by interface to others."""
    for name, (incoming, outgoing) in more.items():
        before = to.get(name, [0, 0])
        to[name] = [before[0] + incoming, before[1] + outgoing]


def dump(worker: Worker) -> dict[str, Any]:
    """A worker's counts as plain values."""
    return dataclasses.asdict(worker)


def load(values: Mapping[str, Any]) -> Worker:
    """The counts that `dump` gave, after a way through JSON. Raises KeyError, TypeError or ValueError."""
    generations = {}
    for number, generation in values["generations"].items():
        parts = dict(generation)
        parts["folded"] = Incarnation(**parts["folded"])
        parts["incarnations"] = {int(key): Incarnation(**each) for key, each in parts["incarnations"].items()}
        generations[int(number)] = Generation(**parts)
    return Worker(**{**values, "generations": generations})
