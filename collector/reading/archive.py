"""Finds the objects of an archive: a local folder, one object, or a store URL; in order, pruned by their names."""

from __future__ import annotations

import heapq
import itertools
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

from collector.archive.layout import Header
from collector.archive.names import TEMPORARY, ObjectName, PrunedName, read_name, read_pruned
from collector.archive.remote import RETRIES, Access
from collector.places import local_folder
from collector.reading import stored
from collector.reading.chains import missing
from collector.reading.replacing import replace_start

ENVIRONMENT: Final = Access(retries=RETRIES)
"""The environment alone says how a store is reached."""


_NOTHING: Final[Mapping[str, PrunedName]] = {}


class ArchiveError(Exception):
    """The archive as a whole cannot be read."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One object of an archive, not opened yet."""

    path: str
    """Below the archive; what errors name."""
    name: ObjectName | None
    """What its name tells; None for a name that is not one of ours."""
    open: Callable[[], BinaryIO]
    """Fetches nothing that is not read. Raises OSError. Can be sent to another process."""
    size: int = 0
    """Bytes."""
    put: Callable[[bytes, BinaryIO], None] | None = None
    """Writes another beginning and the rest of what is there in its place."""

    def replace(self, start: bytes, rest: BinaryIO) -> None:
        """Put *start* and *rest* in its place; raises OSError."""
        assert self.put is not None  # all that are found in an archive have it
        self.put(start, rest)

    def may_be_of(self, instances: frozenset[str]) -> bool:
        """Whether one of *instances* may have signed it, or none is named."""
        return not instances or self.name is None or self.name.instance in instances

    def within(self, since_ns: int | None, until_ns: int | None) -> bool:
        """Whether it may hold something of that time span; an object whose name tells nothing may."""
        if self.name is None:
            return True
        return not (
            (since_ns is not None and self.name.last_ns < since_ns)
            or (until_ns is not None and self.name.first_ns > until_ns)
        )


@dataclass(frozen=True, slots=True)
class Listing:
    """What is in an archive."""

    entries: list[Entry]
    """All objects, in order; names that are not ours come last."""
    notes: Sequence[PrunedName] = ()
    """What was removed on purpose, as the notes tell that `querytap prune` leaves."""

    @property
    def pruned(self) -> Mapping[str, PrunedName]:
        """How far the objects of each instance were removed."""
        return {note.instance: note for note in sorted(self.notes)}


def list_archive(place: str, access: Access = ENVIRONMENT) -> list[Entry]:
    """All objects of the archive at *place*, in order. As list_all()."""
    return list_all(place, access).entries


def list_all(place: str, access: Access = ENVIRONMENT) -> Listing:
    """What is in the archive at *place*. *access* says how a store is reached. Raises ArchiveError."""
    folder = local_folder(place)
    notes: list[PrunedName] = []
    entries: list[Entry] = []
    for entry in _local(folder) if folder is not None else _remote(place, access):
        note = read_pruned(entry.path) if entry.name is None else None
        if note is None:
            entries.append(entry)
        else:
            notes.append(note)
    return Listing(in_order(entries), notes)


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    """By sequence within an instance, whatever its clock said; instances among each other by the time they tell."""
    queues: dict[str, deque[Entry]] = {}
    nameless: list[Entry] = []
    for entry in sorted(entries, key=_sequence):
        if entry.name is None:
            nameless.append(entry)
        else:
            queues.setdefault(entry.name.instance, deque()).append(entry)
    found: list[Entry] = []
    heads = [_head(queue) for queue in queues.values()]
    heapq.heapify(heads)
    while heads:
        _, instance = heads[0]
        found.append(queues[instance].popleft())
        if queues[instance]:
            heapq.heapreplace(heads, _head(queues[instance]))
        else:
            heapq.heappop(heads)
    return found + nameless


def gaps(entries: Iterable[Entry], pruned: Mapping[str, PrunedName] = _NOTHING) -> Iterator[str]:
    """What is missing or there twice between the first and the last object of each instance, by their names.

    What was *pruned* is not missing.
    """
    sequences: dict[str, list[int]] = {}
    for entry in entries:
        if entry.name is not None:
            sequences.setdefault(entry.name.instance, []).append(entry.name.sequence)
    for instance, numbers in sequences.items():
        numbers.sort()
        through = pruned[instance].through if instance in pruned else 0
        for before, after in itertools.pairwise(numbers):
            if after == before:
                yield f"instance {instance}: object {after} is there twice"
            elif problem := missing(max(before, through), after):
                yield f"instance {instance}: {problem}"


def contradiction(name: ObjectName | None, header: Header) -> str | None:
    """How an object's name differs from its header, which is signed; None when it does not."""
    if name is None:
        return None
    told = (name.instance, name.sequence, name.first_ns, name.last_ns)
    if told != (header.instance, header.sequence, header.first_ns, header.last_ns):
        return "its name is not that of its header: it has been renamed"
    return None


def _sequence(entry: Entry) -> tuple[int, str]:
    return (0 if entry.name is None else entry.name.sequence, entry.path)


def _head(queue: deque[Entry]) -> tuple[int, str]:
    name = queue[0].name
    assert name is not None
    return (name.first_ns, name.instance)


def _local(root: Path) -> Iterator[Entry]:
    if root.is_file():
        yield _file(root, root.name)
        return
    if not root.is_dir():
        raise ArchiveError(f"{root}: there is no such archive")

    def unreadable(error: OSError) -> None:
        raise ArchiveError(f"{error.filename}: {error.strerror}") from error

    for folder, _, files in os.walk(root, onerror=unreadable):
        for file in files:
            if not file.startswith(TEMPORARY):
                path = Path(folder, file)
                yield _file(path, str(path.relative_to(root)))


def _file(path: Path, relative: str) -> Entry:
    try:
        size = path.stat().st_size
    except OSError:
        size = 0  # opening it says what is wrong
    return Entry(
        relative,
        read_name("/".join(path.absolute().parts[-3:])),
        partial(_open, path),
        size,
        partial(replace_start, path),
    )


def _open(path: Path) -> BinaryIO:
    return path.open("rb")


def _remote(url: str, access: Access) -> Iterator[Entry]:
    try:
        for path, size in stored.list_objects(url, access):
            if not path.rsplit("/", 1)[-1].startswith(TEMPORARY):
                yield Entry(
                    path,
                    read_name(path),
                    partial(stored.open_object, url, access, path, size),
                    size,
                    partial(stored.put_object, url, access, path),
                )
    except OSError as error:
        raise ArchiveError(f"{url}: {error}") from error
