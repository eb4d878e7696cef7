"""What one capture process leaves to the next, so that it goes on with the same rings: values and bytes, nothing open.

The heritage says which rings there are, and is written once; each worker's progress is written whenever it changes. All
of it is JSON, in one piece of memory with a place for each, so that a write is one call, which a kill does not cut in
two as long as it stays within a page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from collector.config import Config, to_mapping

FORMAT: Final = 1

_HERITAGE_BYTES: Final = 1 << 16
_PROGRESS_BYTES: Final = 1 << 14

_MATTERS: Final = (
    "capture.block_kib",
    "capture.block_timeout_ms",
    "capture.checkpoint_mib",
    "capture.fanout",
    "capture.fragments",
    "capture.interfaces",
    "capture.method",
    "capture.namespaces",
    "capture.ring_mib",
    "workers.count",
)
"""Options that rings are made by. All others may be others for the process that goes on with them."""


class UnfitError(Exception):
    """What was left cannot be gone on with; the message says why."""


@dataclass(frozen=True, slots=True)
class Ring:
    """A worker's socket with its ring."""

    worker: int
    cookie: int
    """By which the kernel tells this socket from all others since it was booted (SO_COOKIE)."""
    block_bytes: int
    block_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The sockets on one network namespace, which are one fanout group where they are several."""

    place: str
    namespace: int
    """Its inode."""
    interface: int
    """Index of the one that they are bound to, 0 for all."""
    method: str
    fanout: int
    """What PACKET_FANOUT says of each: number, kind and flags; 0 where there is no group."""
    notes: Sequence[str]
    rings: Sequence[Ring]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heritage:
    """All that there is to go on with."""

    boot: str
    generation: int
    settings: Mapping[str, Any]
    groups: Sequence[Group]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far one worker's ring has come."""

    incarnation: int = 0
    passed: int = 0
    dropped: int = 0
    freezes: int = 0
    crashes: int = 0
    """Processes of the worker that ended without having been told to."""
    taken_before: int = 0
    """Packets that the processes before this incarnation took."""
    interfaces: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """Packets of those, in and out, by the index of their interface."""


def settings_of(config: Config) -> dict[str, Any]:
    """The options that rings are made by, with their values as JSON has them."""
    mapping = to_mapping(config)
    found = {key: mapping[key.partition(".")[0]][key.partition(".")[2]] for key in _MATTERS}
    return dict(json.loads(json.dumps(found)))


def size(workers: int) -> int:
    """Bytes of memory that it takes."""
    return _HERITAGE_BYTES + workers * _PROGRESS_BYTES


def pack_heritage(heritage: Heritage) -> bytes:
    """Heritage as bytes, to be written at 0. Raises ValueError where it does not fit."""
    return _packed({"format": FORMAT, **asdict(heritage)}, _HERITAGE_BYTES)


def pack_progress(progress: Progress) -> bytes:
    """Progress as bytes, to be written at place_of(); where interfaces are too many, without them."""
    try:
        return _packed(asdict(progress), _PROGRESS_BYTES)
    except ValueError:
        return _packed({**asdict(progress), "interfaces": {}}, _PROGRESS_BYTES)


def place_of(worker: int) -> int:
    """Where a worker's progress is."""
    return _HERITAGE_BYTES + worker * _PROGRESS_BYTES


def unpack_heritage(memory: bytes) -> Heritage:
    """Read what pack_heritage() made. Raises UnfitError."""
    found = _unpacked(memory[:_HERITAGE_BYTES])
    if found.pop("format", None) != FORMAT:
        raise UnfitError("it is of another version of querytap")
    try:
        groups = [Group(**{**one, "rings": [Ring(**ring) for ring in one["rings"]]}) for one in found.pop("groups")]
        return Heritage(groups=groups, **found)
    except (KeyError, TypeError) as error:
        raise UnfitError(f"it does not say what it is ({error})") from error


def unpack_progress(memory: bytes, worker: int) -> Progress:
    """Read what pack_progress() made. Raises UnfitError."""
    at = place_of(worker)
    found = _unpacked(memory[at : at + _PROGRESS_BYTES])
    try:
        interfaces = {int(index): (int(came), int(went)) for index, (came, went) in found.pop("interfaces").items()}
        numbers = {name: int(value) for name, value in found.items()}
        return Progress(interfaces=interfaces, **numbers)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnfitError(f"how far worker {worker} had come is not readable ({error})") from error


def _packed(values: Mapping[str, Any], most_bytes: int) -> bytes:
    # The end is a line's: what a longer text left behind it is not read.
    data = json.dumps(values).encode("ascii") + b"\n"
    if len(data) > most_bytes:
        raise ValueError(f"{len(data)} bytes, where there is room for {most_bytes}")
    return data


def _unpacked(memory: bytes) -> dict[str, Any]:
    try:
        found = json.loads(memory.partition(b"\n")[0])
    except ValueError as error:
        raise UnfitError("it is not readable") from error
    if not isinstance(found, dict):
        raise UnfitError("it is not readable")
    return found
