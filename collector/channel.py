"""The records capture sends the aggregator: one SOCK_SEQPACKET message each, fixed size, checked at both ends.

Pure bytes and numbers: who owns the socket is decided elsewhere.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final

MAGIC: Final = b"QTS1"
MOST_WORKERS: Final = 64  # the bound of workers.count

TRAFFIC_MAGIC: Final = b"QTI1"
GENERATIONS: Final = 1 << 16
"""Numbers of capture processes, after which they begin anew."""
OTHERS: Final = "others"
"""Stands for interfaces that cannot be told."""

_LAYOUT: Final = struct.Struct("<4sHHI6Q")
_TRAFFIC: Final = struct.Struct("<4sHHI16s2Q")
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


def unpack(record: bytes) -> Statistics | Traffic:
    """Read one record; ValueError says what is wrong with it."""
    return _traffic(record) if record.startswith(TRAFFIC_MAGIC) else _statistics(record)


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
