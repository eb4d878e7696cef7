"""Where sealed objects go. A local folder is written here, durably and within bounds; the rest goes through obstore.

Object stores have their own durability; obstore's local store has none (no fsync), hence the difference.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from collector.aggregator.durable import create_file, make_folders, sync_folder
from collector.archive.failures import failure, is_there_already
from collector.archive.layout import PREFIX, Header, ObjectError, unpack_header, unpack_prefix
from collector.archive.names import SUFFIX, TEMPORARY, ObjectName, read_name
from collector.archive.remote import Access, AccessError, open_remote
from collector.config import Config, StartError
from collector.places import archive_place, local_folder

if TYPE_CHECKING:
    from obstore.store import ObjectStore

FLOOR_BYTES: Final = 64 << 20
"""What a local archive keeps even where others have filled the disk: else nothing would be recorded there."""

_MIB: Final = 1 << 20


class TransportError(Exception):
    """An object did not reach the store; `retry` says whether trying again may help."""

    def __init__(self, message: str, *, retry: bool) -> None:
        super().__init__(message)
        self.retry = retry


@dataclass(frozen=True, slots=True)
class Evicted:
    """An object that was removed to keep the archive within its bounds."""

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

    def has(self, name: str) -> bool | None:
        """Whether the object is there; None where it is not known."""

    def make_room(self, incoming: int) -> Iterator[Evicted]:
        """Remove the oldest objects until *incoming* bytes are within the bounds. Raises TransportError."""

    def size_bytes(self) -> int | None:
        """How much it holds; None where it is not known."""


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
        try:
            make_folders(root, root)
            for path, name in _tidy(root):
                self._count(path, name.sequence, path.stat().st_size)
        except OSError as error:
            raise StartError(f"the archive {root} cannot be used: {error.strerror}", "see store.url") from error

    def put(self, name: str, data: bytes) -> None:
        """Write aside, fsync, link under its name, fsync the folder."""
        path = self._root / name
        try:
            make_folders(path.parent, self._root)
            if path.exists():
                if path.read_bytes() != data:
                    raise TransportError(f"{path} is there already and differs", retry=False)
                return  # an earlier try went through
            create_file(path, data, mode=0o600)
        except OSError as error:
            raise TransportError(f"{path}: {error.strerror}", retry=error.errno != errno.EROFS) from error
        parts = read_name(name)
        self._count(path, 0 if parts is None else parts.sequence, len(data))

    def has(self, name: str) -> bool:
        """Whether the object is there."""
        return (self._root / name).exists()

    def make_room(self, incoming: int) -> Iterator[Evicted]:
        """Remove the oldest objects first; what is not an object of ours is never touched."""
        while self._over(incoming):
            oldest = self._oldest()
            if oldest is None:
                return
            yield self._remove(oldest)

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

    def _over(self, incoming: int) -> bool:
        if self._size + incoming > self._max_bytes:
            return True
        return self._size + incoming > FLOOR_BYTES and self._free_percent(incoming) < self._min_free_percent

    def _free_percent(self, incoming: int) -> float:
        system = os.statvfs(self._root)
        usable = system.f_blocks - system.f_bfree + system.f_bavail  # as df counts: without the reserve of root
        return 100 * (system.f_bavail * system.f_frsize - incoming) / max(1, usable * system.f_frsize)

    def _count(self, path: Path, sequence: int, size: int) -> None:
        self._size += size
        self._lowest[path.parent] = min(sequence, self._lowest.get(path.parent, sequence))

    def _oldest(self) -> Path | None:
        """Of each instance the object of the lowest sequence; of these the one that was written first."""
        instances = sorted({day.parent for day in self._lowest})
        firsts = [path for instance in instances if (path := self._first(instance)) is not None]
        return min(firsts, key=lambda path: path.stat().st_mtime_ns, default=None)

    def _first(self, instance: Path) -> Path | None:
        while days := [day for day in self._lowest if day.parent == instance]:
            day = min(days, key=lambda day: (self._lowest[day], day))
            found = min(_objects(day), default=None)
            if found is None:
                del self._lowest[day]
            elif found[0] == self._lowest[day]:
                return found[1]
            else:
                self._lowest[day] = found[0]  # others have taken objects away
        return None

    def _remove(self, path: Path) -> Evicted:
        name = str(path.relative_to(self._root))
        try:
            size = path.stat().st_size
            evicted = Evicted(name, size, read_clear_header(path))
            path.unlink()
            if not any(path.parent.iterdir()):
                path.parent.rmdir()
                sync_folder(path.parent.parent)
            else:
                sync_folder(path.parent)
        except OSError as error:
            raise TransportError(f"{path} cannot be removed: {error.strerror}", retry=True) from error
        self._size -= size
        return evicted


class RemoteStore:
    """A store that obstore reaches by URL: S3 and what speaks it, GCS, Azure.

    Promise: a request is tried once; trying again is the caller's business, who has others to serve.
    """

    def __init__(self, url: str, access: Access) -> None:
        self.place = url
        self._store = _opened(url, access)

    def put(self, name: str, data: bytes) -> None:
        """Create-only, as the store itself promises it."""
        from obstore.exceptions import BaseError

        try:
            self._store.put(name, data, mode="create")
        except (BaseError, OSError) as error:
            if is_there_already(error):
                return  # the name holds the content's hash: an earlier try went through
            why = failure(error)
            raise TransportError(f"{self.place}: {why.message}; {why.remedy}", retry=True) from error

    def has(self, name: str) -> bool | None:
        """Ask the store; None when it does not answer."""
        from obstore.exceptions import BaseError

        try:
            self._store.head(name)
        except FileNotFoundError:
            return False
        except (BaseError, OSError):
            return None
        return True

    def make_room(self, incoming: int) -> Iterator[Evicted]:  # noqa: ARG002 - the store's owner bounds it
        """Nothing: a remote archive is bounded by its own rules."""
        return iter(())

    def size_bytes(self) -> None:
        """Not known."""
        return

    def adapt(self, config: Config) -> None:
        """Reach it as is said now; the file of credentials is read again. Raises StartError, and goes on as before."""
        self._store = _opened(self.place, access_of(config))


def access_of(config: Config) -> Access:
    """How the settings say that a remote store is reached; no request takes so long that a stop overruns its time."""
    store = config.store
    return Access(
        endpoint=store.endpoint,
        region=store.region,
        ca_file=store.ca_file,
        credentials_file=store.credentials_file,
        timeout_s=min(store.timeout_s, config.process.stop_timeout_s / 4),
    )


def _opened(url: str, access: Access) -> ObjectStore:
    try:
        return open_remote(url, access)
    except AccessError as error:
        raise StartError(error.message, error.remedy) from error


def open_store(config: Config) -> LocalFolder | RemoteStore:
    """The store that `store.url` names; raises StartError."""
    folder = local_folder(archive_place(config.store.url, config.paths.state))
    if folder is not None:
        return LocalFolder(folder, config.store.local_max_mib * _MIB, config.store.min_free_percent)
    return RemoteStore(config.store.url, access_of(config))


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


def _tidy(root: Path) -> Iterator[tuple[Path, ObjectName]]:
    """The objects below *root*; removes what an interrupted write has left."""
    for path in root.glob("*/*/*"):
        if path.name.startswith(TEMPORARY) and SUFFIX in path.name:
            path.unlink()
        elif (name := _named(path)) is not None:
            yield path, name
