"""The folder in which objects are safe until a remote store has them: a bounded local folder that empties itself."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import Final

from collector.aggregator.backlog import Backlog
from collector.aggregator.disk import trouble
from collector.aggregator.durable import make_folders, sync_folder
from collector.aggregator.store import Evicted, LocalFolder, read_clear_header
from collector.archive.names import read_name
from collector.config import Config
from collector.places import archive_place, local_folder, spool_folder

DAMAGED_FOLDER: Final = "damaged"
"""Below the spool: what was found damaged, for people to look at. Nothing reads it."""

_MIB: Final = 1 << 20

_log = logging.getLogger("aggregator")


def open_store(config: Config) -> LocalFolder:
    """The local archive that `store.url` names, or the spool of a remote one. Raises StartError."""
    folder = local_folder(archive_place(config.store.url, config.paths.state))
    bounds = config.store.local_max_mib * _MIB, config.store.min_free_percent
    if folder is not None:
        return LocalFolder(folder, *bounds)
    return Spool(spool_folder(config.paths.state), *bounds)


class Spool(LocalFolder):
    """Takes objects as a local archive does; each leaves when the store has it, or is evicted and counted.

    Promises: what is here at a start is in the backlog, oldest first. The object sealed last stays until the next one
    is here, in the store or not: where the chain stands, and whether that object was lost in a crash, can then be told
    from this folder alone. Objects on their way are not evicted: none is counted as evicted and in the store too.
    """

    def __init__(self, root: Path, max_bytes: int, min_free_percent: int) -> None:
        super().__init__(root, max_bytes, min_free_percent)
        found = []
        for path, name in self.objects():
            status = path.stat()
            found.append((status.st_mtime_ns, name.sequence, str(path.relative_to(root)), status.st_size))
        self.backlog = Backlog((name, size) for _, _, name, size in sorted(found))
        self._last = max(found)[2] if found else ""
        self._last_is_stored = False
        self._left_over: list[str] = []
        """What the store has and could not be removed: tried again with the next object."""

    def put(self, name: str, data: bytes) -> None:
        """As in a local archive; what was the last before, and is in the store, leaves."""
        super().put(name, data)
        if name in self.backlog or name == self._last:
            return  # an earlier try went through
        self.backlog.add(name, len(data))
        before, stored = self._last, self._last_is_stored
        self._last, self._last_is_stored = name, False
        if stored:
            self._leave(before)
        left_over, self._left_over = self._left_over, []
        for each in left_over:
            self._leave(each)

    def stored(self, name: str) -> None:
        """The store has the object."""
        self.backlog.remove(name)
        if name == self._last:
            self._last_is_stored = True
        else:
            self._leave(name)

    def missing(self, name: str) -> None:
        """Somebody has taken the object away."""
        _log.error("gone from the spool before the store had it: %s", name)
        self._size -= self.backlog.remove(name)

    def complete(self, name: str) -> bool:
        """As in a local archive; one that is damaged is set aside."""
        whole = super().complete(name)
        if not whole and self.has(name):
            self.set_aside(name)
        return whole

    def set_aside(self, name: str) -> Evicted:
        """Put a damaged object where nobody takes it for one; what its header says is what is missing now."""
        path = self._root / name
        lost = Evicted(name, 0, None)
        to = self._root / DAMAGED_FOLDER / path.name
        try:
            lost = Evicted(name, path.stat().st_size, read_clear_header(path))
            make_folders(to.parent, self._root)
            path.rename(to)
            sync_folder(to.parent)
            sync_folder(path.parent)
        except OSError as error:
            _log.warning("a damaged object cannot be moved to %s: %s", to.parent, trouble(path, error))
        else:
            _log.error("set aside as damaged: %s", to)
        if name in self.backlog:
            self.backlog.remove(name)
        self._size -= lost.size
        return lost

    def path(self, name: str) -> Path:
        """Where an object is."""
        return self._root / name

    def oldest_ns(self) -> int | None:
        """The time of the last statement in the oldest object that the store has not."""
        head = self.backlog.head()
        name = None if head is None else read_name(head)
        return None if name is None else name.last_ns

    def _oldest(self) -> Path | None:
        while (name := self.backlog.oldest()) is not None:
            if self.has(name):
                return self._root / name
            self.missing(name)
        return None

    def _remove(self, path: Path) -> None:
        super()._remove(path)
        self.backlog.remove(self._name(path))

    def _leave(self, name: str) -> None:
        path = self._root / name
        try:
            size = path.stat().st_size
            path.unlink()
        except FileNotFoundError:
            return
        except OSError as error:
            _log.warning("cannot be removed though the store has it: %s", trouble(path, error))
            self._left_over.append(name)
            return
        self._size -= size
        with contextlib.suppress(OSError):  # others of that day are still there
            path.parent.rmdir()
            self._ready.discard(path.parent)
