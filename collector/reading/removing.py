"""Takes objects out of an archive, a local folder or a remote store, and leaves a note that it was done on purpose."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from collector.archive.failures import failure, is_there_already
from collector.archive.remote import Access
from collector.places import local_folder
from collector.reading.stored import opened

AT_ONCE: Final = 1000
"""Objects that one request to a store can remove (https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html)."""


class Remover(Protocol):
    """Of one archive."""

    def leave(self, path: str, note: bytes) -> None:
        """Write a note, durably; one that is there stays as it is. Raises OSError."""

    def remove(self, paths: Sequence[str]) -> None:
        """Remove what is there of *paths*, at most AT_ONCE. Raises OSError; some of them may be gone then."""


def remover(place: str, access: Access) -> Remover:
    """That of the archive at *place*."""
    folder = local_folder(place)
    return _Store(place, access) if folder is None else _Folder(folder)


class _Folder:
    def __init__(self, root: Path) -> None:
        self._root = root

    def leave(self, path: str, note: bytes) -> None:
        place = self._root / path
        place.parent.mkdir(exist_ok=True)
        try:
            with place.open("xb") as file:
                file.write(note)
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            return
        _sync(place.parent)
        _sync(place.parent.parent)

    def remove(self, paths: Sequence[str]) -> None:
        for path in paths:
            (self._root / path).unlink(missing_ok=True)
        for parent in {(self._root / path).parent for path in paths}:
            with contextlib.suppress(OSError):  # it still has others
                parent.rmdir()
            if parent.exists():
                _sync(parent)


class _Store:
    def __init__(self, url: str, access: Access) -> None:
        self._url = url
        self._access = access

    def leave(self, path: str, note: bytes) -> None:
        from obstore.exceptions import BaseError

        try:
            opened(self._url, self._access).put(path, note, mode="create")
        except BaseError as error:
            if not is_there_already(error):
                raise OSError(failure(error).message) from error

    def remove(self, paths: Sequence[str]) -> None:
        from obstore.exceptions import BaseError

        store = opened(self._url, self._access)
        try:
            store.delete(list(paths))
        except FileNotFoundError:
            # Not every store takes it for done where one is gone already.
            self._remove_each(paths)
        except BaseError as error:
            raise OSError(failure(error).message) from error

    def _remove_each(self, paths: Sequence[str]) -> None:
        from obstore.exceptions import BaseError

        for path in paths:
            try:
                with contextlib.suppress(FileNotFoundError):
                    opened(self._url, self._access).delete(path)
            except BaseError as error:
                raise OSError(failure(error).message) from error


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
