"""The folder in which objects are safe until a remote store has them: a bounded local folder that empties itself."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import Final

from collector.aggregator.backlog import Backlog
from collector.aggregator.store import Evicted, LocalFolder
from collector.archive.names import read_name
from collector.config import Config
from collector.places import archive_place, local_folder, spool_folder

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
        self.backlog.remove(name)

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

    def _remove(self, path: Path) -> Evicted:
        evicted = super()._remove(path)
        self.backlog.remove(evicted.name)
        return evicted

    def _leave(self, name: str) -> None:
        path = self._root / name
        try:
            size = path.stat().st_size
            path.unlink()
        except FileNotFoundError:
            return
        except OSError as error:
            _log.warning("%s cannot be removed though the store has it: %s", path, error.strerror)
            return
        self._size -= size
        with contextlib.suppress(OSError):  # others of that day are still there
            path.parent.rmdir()
