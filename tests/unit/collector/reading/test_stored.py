from __future__ import annotations

import io
import tracemalloc
from pathlib import Path
from typing import Literal

import pytest
from obstore.store import LocalStore

from collector.archive.remote import Access
from collector.reading import stored

URL = "s3://bucket/folder"
SIZE = 3 * stored.MOST_BYTES + 1000


class Counting:
    """A store that notes which ranges are asked for."""

    def __init__(self, folder: Path) -> None:
        self._store = LocalStore(folder)
        self.asked: list[tuple[int, int]] = []

    def get_range(self, path: str, *, start: int, length: int) -> object:
        self.asked.append((start, length))
        return self._store.get_range(path, start=start, length=length)

    def put(self, path: str, data: bytes, *, mode: Literal["overwrite"]) -> object:
        return self._store.put(path, data, mode=mode)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counting:
    (tmp_path / "object").write_bytes(bytes(range(250)) * (SIZE // 250) + bytes(SIZE % 250))
    made = Counting(tmp_path)
    monkeypatch.setattr(stored, "opened", lambda *_: made)
    return made


def test_who_reads_the_beginning_fetches_the_beginning(store: Counting) -> None:
    with stored.open_object(URL, Access(), "object", SIZE) as stream:
        assert store.asked == []
        assert stream.read(3) == b"\0\1\2"
        stream.read(5000)
    assert store.asked == [(0, stored.FIRST_BYTES)]


def test_the_rest_comes_in_long_pieces_each_byte_once(store: Counting, tmp_path: Path) -> None:
    with stored.open_object(URL, Access(), "object", SIZE) as stream:
        assert stream.read() == (tmp_path / "object").read_bytes()
    ends = [start + length for start, length in store.asked]
    assert [start for start, _ in store.asked] == [0, *ends[:-1]]
    assert ends[-1] == SIZE
    assert max(length for _, length in store.asked) == stored.MOST_BYTES


@pytest.mark.usefixtures("store")
def test_no_more_than_a_piece_is_in_memory() -> None:
    tracemalloc.start()
    with stored.open_object(URL, Access(), "object", SIZE) as stream:
        while stream.read(100_000):
            pass
        assert tracemalloc.get_traced_memory()[1] < 2 * stored.MOST_BYTES
    tracemalloc.stop()


@pytest.mark.usefixtures("store")
def test_an_object_is_replaced_whole(tmp_path: Path) -> None:
    stored.put_object(URL, Access(), "object", b"other ", io.BytesIO(b"content"))
    assert (tmp_path / "object").read_bytes() == b"other content"
