"""The records between capture and the aggregator: one SOCK_SEQPACKET message each, fixed size, checked at both ends.

Pure bytes and numbers: who owns the socket is decided elsewhere.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

MAGIC: Final = b"QTS1"
MOST_WORKERS: Final = 64  # the bound of workers.count

TRAFFIC_MAGIC: Final = b"QTI1"
COSTS_MAGIC: Final = b"QTC1"
REACH_MAGIC: Final = b"QTR1"
ORDER_MAGIC: Final = b"QTO1"
RESPONSES: Final = ("none", "first", "timing", "all")
"""How much of the answers is looked at, by its number in an order."""
MOST_HALVINGS: Final = 32
GENERATIONS: Final = 1 << 16
"""Numbers of capture processes, after which they begin anew."""
OTHERS: Final = "others"
"""Stands for interfaces that cannot be told."""

_LAYOUT: Final = struct.Struct("<4sHHI6Q")
_TRAFFIC: Final = struct.Struct("<4sHHI16s2Q")
_COSTS: Final = struct.Struct("<4s2Q")
_REACH: Final = struct.Struct("<4s4Q")
_ORDER: Final = struct.Struct("<4s3B")
_FINAL: Final = 1
_ENDED: Final = 2
_GENERATION_SHIFT: Final = 16
_U32: Final = 0xFFFF_FFFF
_U64: Final = 0xFFFF_FFFF_FFFF_FFFF

RECORD_BYTES: Final = _LAYOUT.size
"""Of statistics, which are the longer ones."""


def first_incarnation(generation: int) -> int:
    """The number of the first process of a worker under the capture process with that number."""
    return generation << _GENERATION_SHIFT


def generation_of(incarnation: int) -> int:
    """The number of the capture process to whose rings an incarnation belongs."""
    return incarnation >> _GENERATION_SHIFT


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """What capture knows of one worker's ring and of the counters its worker last stored.

    Kernel figures are cumulative since the ring was opened: they pass from one incarnation of the worker to the next.
    Page figures are cumulative within the incarnation, which grows by one with each new process of the worker. Its
    upper 16 bits grow with each new capture process, whose kernel figures begin at 0 again. ValueError names a value
    that does not fit.
    """

    worker: int
    incarnation: int
    final: bool = False
    """Nothing follows for this worker: its ring is closed to packets and its last process is gone."""
    ended: bool = False
    """The process of this incarnation is gone, so the page figures are its last ones."""
    kernel_passed: int = 0
    """Packets that passed the filter, those dropped for want of room included (tp_packets)."""
    kernel_dropped: int = 0
    """Of them, those the kernel dropped for want of room (tp_drops)."""
    ring_freezes: int = 0
    """Times the kernel found no free block: episodes, not packets (tp_freeze_q_cnt)."""
    page_packets: int = 0
    """Packets the worker took from the ring: the sum of its packets_* counters."""
    page_statements: int = 0
    """Statements the worker decoded."""
    crashes: int = 0
    """Processes of the worker, on this ring, that ended without having been told to."""

    def pack(self) -> bytes:
        """The record as RECORD_BYTES bytes."""
        flags = (_FINAL if self.final else 0) | (_ENDED if self.ended else 0)
        return _LAYOUT.pack(
            MAGIC, self.worker, flags, self.incarnation, self.kernel_passed, self.kernel_dropped,
            self.ring_freezes, self.page_packets, self.page_statements, self.crashes,
        )  # fmt: skip

    def __post_init__(self) -> None:
        limits = {field.name: _U64 for field in fields(self)}
        _check(self, {**limits, "worker": MOST_WORKERS - 1, "incarnation": _U32})
        if self.kernel_dropped > self.kernel_passed:
            raise ValueError(
                f"statistics record: kernel_dropped is {self.kernel_dropped}, more than kernel_passed"
                f" ({self.kernel_passed}), which includes it"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The packets that a worker took from its ring, of one interface; cumulative since the ring was opened.

    As the workers last told, so those that died with one may be missing. ValueError as above.
    """

    worker: int
    incarnation: int
    interface: str
    """Its name, of at most 15 bytes."""
    incoming: int
    outgoing: int
    final: bool = False
    """Nothing follows for this interface."""

    def pack(self) -> bytes:
        """The record as bytes."""
        name = self.interface.encode("utf-8", "surrogateescape")
        flags = _FINAL if self.final else 0
        return _TRAFFIC.pack(
            TRAFFIC_MAGIC, self.worker, flags, self.incarnation, name, self.incoming, self.outgoing
        )  # fmt: skip

    def __post_init__(self) -> None:
        _check(self, {"worker": MOST_WORKERS - 1, "incarnation": _U32, "incoming": _U64, "outgoing": _U64})
        if not 1 <= len(self.interface.encode("utf-8", "surrogateescape")) <= 15:
            raise ValueError(f"traffic record: {self.interface!r} is no interface's name")


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What a packet costs on this host, in picoseconds of CPU time in the kernel, as capture measured it."""

    passed_ps: int
    """One that passes the filter;"""
    other_ps: int
    """one that does not."""

    def pack(self) -> bytes:
        """The record as bytes."""
        return _COSTS.pack(COSTS_MAGIC, self.passed_ps, self.other_ps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How much of what the servers were sent is captured, as their own sockets count it. ValueError as above.

    Segments are those with data that came since connections were first looked at: cumulative for a capture process.
    """

    kept: int
    """Segments on the connections that are captured."""
    all: int
    """Segments on all."""
    kept_connections: int
    connections: int
    """How many there are now."""

    def pack(self) -> bytes:
        """The record as bytes."""
        return _REACH.pack(REACH_MAGIC, self.kept, self.all, self.kept_connections, self.connections)

    def __post_init__(self) -> None:
        if self.kept > self.all or self.kept_connections > self.connections:
            raise ValueError("reach record: a part is more than the whole")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What the aggregator has capture pass from now on: no more than the configuration says. ValueError as above."""

    responses: str
    """One of RESPONSES."""
    halvings: int = 0
    """So often the share of the connections is halved."""
    captures: bool = True
    """Whether anything passes."""

    def pack(self) -> bytes:
        """The record as bytes."""
        return _ORDER.pack(ORDER_MAGIC, RESPONSES.index(self.responses), self.halvings, self.captures)

    def __post_init__(self) -> None:
        if self.responses not in RESPONSES or not 0 <= self.halvings <= MOST_HALVINGS:
            raise ValueError(f"order: {self.responses!r} and 1/2**{self.halvings} are nothing to pass")


ORDER_BYTES: Final = _ORDER.size

Told = Statistics | Traffic | Costs | Reach
"""What capture tells."""


def unpack(record: bytes) -> Told:
    """Read one record of capture; ValueError says what is wrong with it."""
    if record.startswith(TRAFFIC_MAGIC):
        return _traffic(record)
    if record.startswith(COSTS_MAGIC):
        _, passed_ps, other_ps = _fixed(_COSTS, record, "costs")
        return Costs(passed_ps=passed_ps, other_ps=other_ps)
    if record.startswith(REACH_MAGIC):
        _, kept, every, kept_connections, connections = _fixed(_REACH, record, "reach")
        return Reach(kept=kept, all=every, kept_connections=kept_connections, connections=connections)
    return _statistics(record)


def unpack_order(record: bytes) -> Order:
    """Read one record of the aggregator; ValueError says what is wrong with it."""
    magic, responses, halvings, captures = _fixed(_ORDER, record, "order")
    if magic != ORDER_MAGIC or responses >= len(RESPONSES):
        raise ValueError("order: begins with something else, or has an unknown number")
    return Order(responses=RESPONSES[responses], halvings=halvings, captures=bool(captures))


def _fixed(layout: struct.Struct, record: bytes, name: str) -> tuple[Any, ...]:
    if len(record) != layout.size:
        raise ValueError(f"{name} record: {len(record)} bytes, expected {layout.size}")
    return layout.unpack(record)


def _traffic(record: bytes) -> Traffic:
    if len(record) != _TRAFFIC.size:
        raise ValueError(f"traffic record: {len(record)} bytes, expected {_TRAFFIC.size}")
    _, worker, flags, incarnation, name, incoming, outgoing = _TRAFFIC.unpack(record)
    if flags & ~_FINAL:
        raise ValueError(f"traffic record: unknown flags {flags:#x}")
    return Traffic(
        worker=worker,
        incarnation=incarnation,
        interface=name.rstrip(b"\0").decode("utf-8", "replace")[:15],
        incoming=incoming,
        outgoing=outgoing,
        final=bool(flags),
    )


def _check(record: object, limits: Mapping[str, int]) -> None:
    for name, limit in limits.items():
        value = int(getattr(record, name))
        if not 0 <= value <= limit:
            raise ValueError(f"{type(record).__name__.lower()} record: {name} is {value}, the limit is {limit}")


def _statistics(record: bytes) -> Statistics:
    if len(record) != RECORD_BYTES:
        raise ValueError(f"statistics record: {len(record)} bytes, expected {RECORD_BYTES}")
    magic, worker, flags, incarnation, passed, dropped, freezes, packets, statements, crashes = _LAYOUT.unpack(record)
    if magic != MAGIC:
        raise ValueError(f"statistics record: begins with {magic!r}, expected {MAGIC!r}")
    if flags & ~(_FINAL | _ENDED):
        raise ValueError(f"statistics record: unknown flags {flags:#x}")
    return Statistics(
        worker=worker,
        incarnation=incarnation,
        final=bool(flags & _FINAL),
        ended=bool(flags & _ENDED),
        kernel_passed=passed,
        kernel_dropped=dropped,
        ring_freezes=freezes,
        page_packets=packets,
        page_statements=statements,
        crashes=crashes,
    )
