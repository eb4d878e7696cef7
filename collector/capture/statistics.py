"""Sums what the kernel and the workers count into the records for the aggregator. No socket, no clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from collector.capture.sockets import KernelCounters
from collector.channel import Statistics, Traffic
from workers import counters

MOST_STATEMENTS_A_PACKET: Final = 1 << 20
"""More than the smallest commands that fit into the largest packet; compressed ones could be more, and never are."""

_PACKETS: Final = tuple(number for number, name in enumerate(counters.NAMES) if name.startswith("packets_"))
_STATEMENTS: Final = counters.NAMES.index("statements_decoded")


class KernelTotals:
    """The kernel's counters of one socket, which go back to zero whenever they are read, summed up."""

    def __init__(self, passed: int = 0, dropped: int = 0, freezes: int = 0) -> None:
        self.passed = passed
        self.dropped = dropped
        self.freezes = freezes

    def add(self, taken: KernelCounters) -> None:
        """Add what was counted since the last time."""
        self.passed += taken.passed
        self.dropped += taken.dropped
        self.freezes += taken.freezes


def packets(page: Sequence[int], most: int) -> int:
    """The packets that a worker has counted one way or another; it can write what it likes, so *most* at most."""
    return min(sum(page[number] for number in _PACKETS), max(most, 0))


def traffic(
    worker: int, incarnation: int, counted: Mapping[str, tuple[int, int]], known: Mapping[str, tuple[int, int]],
    *, final: bool = False,
) -> Iterator[Traffic]:  # fmt: skip
    """The records of one worker's packets by interface, without those that are *known*; the *final* ones are all."""
    for name, (incoming, outgoing) in counted.items():
        if final or known.get(name) != (incoming, outgoing):
            yield Traffic(
                worker=worker,
                incarnation=incarnation,
                interface=name,
                incoming=incoming,
                outgoing=outgoing,
                final=final,
            )


def record(
    worker: int,
    incarnation: int,
    totals: KernelTotals,
    page: Sequence[int],
    *,
    ended: bool = False,
    final: bool = False,
    taken: int = 0,
    before: int = 0,
    crashes: int = 0,
) -> Statistics:
    """The record of one worker, whose counters *page* has in the order of workers.counters.NAMES.

    *taken* is what a worker that ended had taken from the ring, where that is known: what it was about to look at when
    it died is in no counter of its own. *before* is what those before it had taken. The page is the worker's to write:
    it cannot claim more packets than the kernel gave it, nor statements beyond all reason.
    """
    page_packets = max(taken, packets(page, totals.passed - totals.dropped - before))
    return Statistics(
        worker=worker,
        incarnation=incarnation,
        ended=ended,
        final=final,
        kernel_passed=totals.passed,
        kernel_dropped=totals.dropped,
        ring_freezes=totals.freezes,
        page_packets=page_packets,
        crashes=crashes,
        page_statements=min(page[_STATEMENTS], page_packets * MOST_STATEMENTS_A_PACKET),
    )
