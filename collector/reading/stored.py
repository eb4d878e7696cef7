"""The objects of a remote store, for readers: no more of one is fetched than is read, and little of it is in memory."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

from collector.archive.failures import failure
from collector.archive.remote import Access, AccessError, open_remote

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from obstore.store import ObjectStore

FIRST_BYTES: Final = 64 << 10
"""What is fetched of an object first: enough for nearly every header."""
MOST_BYTES: Final = 4 << 20
"""What is fetched at once behind that, and the most that is held of an object."""


def list_objects(url: str, access: Access) -> Iterator[tuple[str, int]]:
    """Path and bytes of all that is in the store. Raises OSError."""
    from obstore.exceptions import BaseError

    try:
        for batch in opened(url, access).list():
            for meta in batch:
                yield str(meta["path"]), int(meta["size"])
    except (BaseError, ValueError) as error:
        raise OSError(failure(error).message) from error


def open_object(url: str, access: Access, path: str, size: int) -> BinaryIO:
    """An object of *size* bytes; nothing is fetched before it is read. Reading raises OSError."""
    return io.BufferedReader(_Ranges(opened(url, access), path, size))


def put_object(url: str, access: Access, path: str, start: bytes, rest: BinaryIO) -> None:
    """Put *start* and *rest* in the place of what is there. Raises OSError."""
    from obstore.exceptions import BaseError

    try:
        opened(url, access).put(path, start + rest.read(), mode="overwrite")
    except (BaseError, FileNotFoundError) as error:
        raise OSError(failure(error).message) from error


@functools.cache
def opened(url: str, access: Access) -> ObjectStore:
    """The store, opened once a process. Raises OSError."""
    try:
        return open_remote(url, access)
    except AccessError as error:
        raise OSError(f"{error.message}; {error.remedy}") from error


class _Ranges(io.RawIOBase):
    """An object, fetched in a short piece for its header and in long ones for the rest."""

    def __init__(self, store: ObjectStore, path: str, size: int) -> None:
        super().__init__()
        self._store = store
        self._path = path
        self._size = size
        self._fetched = 0
        self._piece = memoryview(b"")

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """As much as the piece at hand has and *buffer* takes; raises OSError."""
        if not self._piece and self._fetched < self._size:
            self._fetch()
        room = memoryview(buffer).cast("B")
        length = min(len(room), len(self._piece))
        room[:length] = self._piece[:length]
        self._piece = self._piece[length:]
        return length

    def _fetch(self) -> None:
        from obstore.exceptions import BaseError

        length = min(MOST_BYTES if self._fetched else FIRST_BYTES, self._size - self._fetched)
        self._piece = memoryview(b"")  # the one before goes first
        try:
            data = self._store.get_range(self._path, start=self._fetched, length=length)
        except (BaseError, FileNotFoundError) as error:
            raise OSError(failure(error).message) from error
        self._piece = memoryview(data).cast("B")
        self._fetched += length
