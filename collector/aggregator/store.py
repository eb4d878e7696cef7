"""The local folder where sealed objects go, durably and within bounds: the archive, or the spool of a remote one.

obstore has a local store too, without fsync.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from collector.aggregator.disk import trouble
from collector.aggregator.durable import clear_asides, create_file, make_folders, sync_folder
from collector.archive.hashes import object_hash
from collector.archive.layout import PREFIX, Header, ObjectError, unpack_header, unpack_prefix
from collector.archive.names import SUFFIX, ObjectName, read_name
from collector.config import Config, StartError

FLOOR_BYTES: Final = 64 << 20
"""What a local archive keeps even where others have filled the disk: else nothing would be recorded there."""

SPARE_BYTES: Final = 256 << 10
"""What has to be free beside an object: for folders and the chain."""

_MIB: Final = 1 << 20

_log = logging.getLogger("aggregator")


class TransportError(Exception):
    """An object did not reach the store; `retry` says whether trying again may help."""

    def __init__(self, message: str, *, retry: bool) -> None:
        super().__init__(message)
        self.retry = retry


class DiskFullError(TransportError):
    """There is no room for it on this host's disk."""


@dataclass(frozen=True, slots=True)
class Evicted:
    """An object that goes to keep the archive within its bounds, or that went as it was damaged."""

    name: str
    size: int
    header: Header | None
    """None when it could not be read any more."""

    def statements(self, run: str) -> Mapping[int, int]:
        """Its statements by worker, when it was written in *run*."""
        if self.header is None or self.header.run != run:
            return {}
        return read_worker_counts(self.header)


class Store(Protocol):
    """Takes objects, each once."""

    place: str
    """Where it is, for people."""

    def put(self, name: str, data: bytes) -> None:
        """Create the object; one of that name with the same content is success. Blocks. Raises TransportError."""

    def complete(self, name: str) -> bool:
        """Whether the object is there, whole, and stays so through a power cut. Raises TransportError."""

    def newest(self, instance: str) -> Path | None:
        """The newest object of *instance*."""

    def make_room(self, incoming: int) -> Iterator[Evicted]:
        """The oldest objects, until *incoming* bytes are within the bounds: each goes when the next one is asked for.

        So whoever asks can count it first, and one that is not asked further leaves it there. Raises TransportError.
        """

    def remove(self, name: str) -> None:
        """Remove the object, if it is there. Raises TransportError."""

    def size_bytes(self) -> int:
        """How much it holds."""


class LocalFolder:
    """A folder of objects, bounded by its own size and by what stays free on its file system.

    Promise: what goes first is what was sealed first. The times in names are those that workers give.
    """

    def __init__(self, root: Path, max_bytes: int, min_free_percent: int) -> None:
        self.place = str(root)
        self._root = root
        self._max_bytes = max_bytes
        self._min_free_percent = min_free_percent
        self._size = 0
        self._lowest: dict[Path, int] = {}
        """The lowest sequence in the folder of each day, so that not all names have to be looked at."""
        self._held: dict[Path, tuple[int, int]] = {}
        """Objects and bytes in the folder of each day."""
        self._ready: set[Path] = set()
        """Folders that stay through a power cut."""
        try:
            make_folders(root, root)
            for path, name in self.objects():
                self._count(path, name.sequence, path.stat().st_size)
        except OSError as error:
            message = f"the folder of objects {root} cannot be used: {error.strerror}"
            raise StartError(message, "see store.url and paths.state") from error

    def put(self, name: str, data: bytes) -> None:
        """Write aside, fsync, link under its name, fsync the folder."""
        path = self._root / name
        try:
            if path.parent not in self._ready:
                make_folders(path.parent, self._root)
                self._ready.add(path.parent)
            if path.exists():
                if path.read_bytes() != data:
                    raise TransportError(f"{path} is there already and differs", retry=False)
                return  # an earlier try went through
            create_file(path, data, mode=0o600)
        except OSError as error:
            self._ready.clear()
            raise TransportError(trouble(path, error), retry=True) from error
        parts = read_name(name)
        self._count(path, 0 if parts is None else parts.sequence, len(data))

    def complete(self, name: str) -> bool:
        """Whether the object is there, whole, and stays so through a power cut."""
        path = self._root / name
        try:
            found = damage(name, path.read_bytes())
            sync_folder(path.parent)  # who wrote it may have been killed before that
        except FileNotFoundError:
            return False
        except OSError as error:
            raise TransportError(trouble(path, error), retry=True) from error
        if found:
            _log.error("%s is damaged: %s", path, found)
        return not found

    def make_room(self, incoming: int) -> Iterator[Evicted]:
        """The oldest objects first; what is not an object of ours is never touched."""
        try:
            while self._over(incoming):
                known = self._size
                oldest = self._oldest()
                if oldest is None:
                    return
                if self._size != known:  # others have removed objects
                    continue
                yield Evicted(self._name(oldest), oldest.stat().st_size, read_clear_header(oldest))
                self._remove(oldest)
        except OSError as error:
            raise TransportError(trouble(self._root, error), retry=True) from error

    def remove(self, name: str) -> None:
        """Remove the object, if it is there."""
        path = self._root / name
        try:
            there = path.exists()
        except OSError as error:
            raise TransportError(trouble(path, error), retry=True) from error
        if there:
            self._remove(path)

    def has(self, name: str) -> bool:
        """Whether something of that name is there."""
        return (self._root / name).exists()

    def size_bytes(self) -> int:
        """Bytes of all objects in it."""
        return self._size

    def adapt(self, config: Config) -> None:
        """Keep to other bounds, from the next object on."""
        self._max_bytes = config.store.local_max_mib * _MIB
        self._min_free_percent = config.store.min_free_percent

    def newest(self, instance: str) -> Path | None:
        """The newest object of *instance*."""
        found = [(name.sequence, path) for path in _files(self._root / instance) if (name := _named(path))]
        return max(found)[1] if found else None

    def objects(self) -> Iterator[tuple[Path, ObjectName]]:
        """All that are in it, in no order."""
        for day in _days(self._root):
            clear_asides(day)
            for path in _entries(day):
                if (name := _named(path)) is not None:
                    yield path, name

    def _over(self, incoming: int) -> bool:
        """Beyond the bounds; or where the disk has no room for it at all, and has once the oldest are gone."""
        system = os.statvfs(self._root)
        free_bytes = system.f_bavail * system.f_frsize
        if self._size + incoming > self._max_bytes or 0 < incoming + SPARE_BYTES - free_bytes <= self._size:
            return True
        usable = system.f_blocks - system.f_bfree + system.f_bavail  # as df counts: without the reserve of root
        free_percent = 100 * (free_bytes - incoming) / max(1, usable * system.f_frsize)
        return self._size + incoming > FLOOR_BYTES and free_percent < self._min_free_percent

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self._root))

    def _count(self, path: Path, sequence: int, size: int) -> None:
        self._size += size
        objects, held = self._held.get(path.parent, (0, 0))
        self._held[path.parent] = objects + 1, held + size
        self._lowest[path.parent] = min(sequence, self._lowest.get(path.parent, sequence))

    def _oldest(self) -> Path | None:
        """Of each instance the object of the lowest sequence; of these the one that was written first."""
        instances = sorted({day.parent for day in self._lowest})
        firsts = [path for instance in instances if (path := self._first(instance)) is not None]
        return min(firsts, key=lambda path: path.stat().st_mtime_ns, default=None)

    def _first(self, instance: Path) -> Path | None:
        while days := [day for day in self._lowest if day.parent == instance]:
            day = min(days, key=lambda day: (self._lowest[day], day))
            objects = list(_objects(day))
            found = min(objects, default=None)
            if found is not None and found[0] == self._lowest[day]:
                return found[1]
            self._recount(day, [path for _, path in objects])
            if found is None:
                del self._lowest[day], self._held[day]
            else:
                self._lowest[day] = found[0]
        return None

    def _recount(self, day: Path, objects: Sequence[Path]) -> None:
        """Count again what a day holds, where others have removed some of it."""
        before, held = self._held[day]
        if len(objects) != before:
            self._size -= held
            self._held[day] = len(objects), sum(path.stat().st_size for path in objects)
            self._size += self._held[day][1]

    def _remove(self, path: Path) -> None:
        try:
            size = path.stat().st_size
            path.unlink()
            if any(path.parent.iterdir()):
                sync_folder(path.parent)
            else:
                self._ready.discard(path.parent)
                path.parent.rmdir()
                sync_folder(path.parent.parent)
        except OSError as error:
            raise TransportError(f"cannot be removed: {trouble(path, error)}", retry=True) from error
        self._size -= size
        objects, held = self._held[path.parent]
        self._held[path.parent] = objects - 1, held - size


def damage(name: str, data: bytes) -> str:
    """What is wrong with an object, going by its name; empty when nothing is."""
    parts = read_name(name)
    try:
        digest = object_hash(data).hex()
    except ObjectError as error:
        return str(error)
    return "" if parts is None or digest.startswith(parts.hash_start) else "its content is not what its name says"


def read_clear_header(path: Path) -> Header | None:
    """The header of an object, unverified; None when it is not readable."""
    try:
        with path.open("rb") as file:
            _, header_bytes = unpack_prefix(file.read(PREFIX.size))
            return unpack_header(file.read(header_bytes))
    except ObjectError:
        return None


def write_worker_counts(statements: Mapping[int, int]) -> dict[str, int]:
    """Counts by worker as they stand in a header."""
    return {str(worker): count for worker, count in sorted(statements.items())}


def read_worker_counts(header: Header) -> dict[int, int]:
    """Statements by worker from a header."""
    counts = header.counts.get("workers")
    if not isinstance(counts, dict):
        return {}
    return {int(worker): count for worker, count in counts.items() if worker.isdecimal() and isinstance(count, int)}


def _named(path: Path) -> ObjectName | None:
    return read_name("/".join(path.parts[-3:]))


def _files(folder: Path) -> Iterator[Path]:
    return folder.glob(f"*/*{SUFFIX}")


def _objects(day: Path) -> Iterator[tuple[int, Path]]:
    try:
        paths = list(day.iterdir())
    except FileNotFoundError:
        return
    for path in paths:
        if (name := _named(path)) is not None:
            yield name.sequence, path


def _days(root: Path) -> Iterator[Path]:
    for instance in root.iterdir():
        yield from _entries(instance)


def _entries(folder: Path) -> list[Path]:
    """What is in it; nothing where it is no folder, or closed to us, which is told."""
    try:
        return list(folder.iterdir())
    except NotADirectoryError:
        return []
    except PermissionError as error:
        _log.error("what is in there is left out until the next start: %s", trouble(folder, error))
        return []
