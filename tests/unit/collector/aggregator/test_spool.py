from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from collector.aggregator.chain import FIRST, open_chain
from collector.aggregator.spool import Spool, open_store
from collector.aggregator.store import Evicted, LocalFolder
from collector.archive.names import ObjectName, write_name
from collector.config import Config, from_mapping
from tests.unit.collector.aggregator.making import SECOND, START_NS, filler, hash_start

INSTANCE = "0123456789abcdef" * 2
CONTENT = filler(100)


def name(sequence: int) -> str:
    at_ns = START_NS + sequence * 3600 * SECOND
    return write_name(ObjectName(INSTANCE, at_ns, at_ns + SECOND, sequence, hash_start(CONTENT)))


def spool(tmp_path: Path, max_bytes: int = 1 << 30) -> Spool:
    return Spool(tmp_path / "spool", max_bytes, 0)


def filled(tmp_path: Path, count: int, max_bytes: int = 1 << 30) -> Spool:
    made = spool(tmp_path, max_bytes)
    for sequence in range(1, count + 1):
        made.put(name(sequence), CONTENT)
        os.utime(made.path(name(sequence)), (sequence, sequence))
    return made


def objects(tmp_path: Path) -> list[str]:
    root = tmp_path / "spool"
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def configured(state: Path, url: str) -> Config:
    return from_mapping({"paths": {"state": str(state), "run": str(state / "run")}, "store": {"url": url}})


@pytest.mark.parametrize("url", ["", "{state}/archive", "file://{state}/archive"])
def test_the_archive_is_a_folder_unless_the_url_says_otherwise(tmp_path: Path, url: str) -> None:
    store = open_store(configured(tmp_path, url.format(state=tmp_path)))
    assert type(store) is LocalFolder
    assert store.place == str(tmp_path / "archive")


def test_a_remote_store_has_a_spool_in_the_aggregators_own_folder(tmp_path: Path) -> None:
    (tmp_path / "aggregator").mkdir()
    store = open_store(configured(tmp_path, "s3://bucket"))
    assert isinstance(store, Spool)
    assert store.place == str(tmp_path / "aggregator" / "spool")


def test_what_the_store_has_leaves_the_spool(tmp_path: Path) -> None:
    held = filled(tmp_path, 3)
    for sequence in (2, 1):
        held.stored(name(sequence))
    assert objects(tmp_path) == [name(3)]
    assert (held.size_bytes(), len(held.backlog)) == (100, 1)


def test_the_last_object_stays_until_the_next_is_here_so_that_a_crash_cannot_hide_it(tmp_path: Path) -> None:
    held = filled(tmp_path, 2)
    held.stored(name(2))
    assert held.has(name(2))
    assert name(2) not in held.backlog
    assert open_chain(tmp_path / "none.json", INSTANCE, held).link.sequence == 2
    held.put(name(3), CONTENT)
    assert objects(tmp_path) == [name(1), name(3)]
    assert held.size_bytes() == 200


def test_the_last_object_is_no_loss_when_room_is_made(tmp_path: Path) -> None:
    held = filled(tmp_path, 1, max_bytes=150)
    held.stored(name(1))
    assert list(held.make_room(100)) == []
    assert held.has(name(1))


def test_a_new_start_goes_on_with_what_is_here_the_oldest_first(tmp_path: Path) -> None:
    filled(tmp_path, 3).stored(name(3))
    again = spool(tmp_path)
    assert (len(again.backlog), again.backlog.size_bytes, again.backlog.head()) == (3, 300, name(1))
    assert again.oldest_ns() == START_NS + 3601 * SECOND
    again.stored(name(3))  # it was there: writes are create-only
    assert again.has(name(3))


def test_writing_the_same_object_again_adds_no_second_one(tmp_path: Path) -> None:
    held = filled(tmp_path, 1)
    held.put(name(1), CONTENT)
    assert (len(held.backlog), held.size_bytes()) == (1, 100)
    held.stored(name(1))
    held.put(name(1), CONTENT)
    assert len(held.backlog) == 0


def test_the_oldest_that_is_not_on_its_way_is_evicted(tmp_path: Path) -> None:
    held = filled(tmp_path, 4, max_bytes=400)
    assert [held.backlog.take(), held.backlog.take()] == [(name(4), 100), (name(1), 100)]
    assert [evicted.name for evicted in held.make_room(150)] == [name(2), name(3)]
    assert list(held.make_room(1000)) == []
    assert objects(tmp_path) == [name(1), name(4)]


def test_what_somebody_took_away_is_passed_over(tmp_path: Path) -> None:
    held = filled(tmp_path, 3, max_bytes=200)
    held.path(name(1)).unlink()
    assert [evicted.name for evicted in held.make_room(1)] == [name(2)]
    held.path(name(3)).unlink()
    held.stored(name(3))
    held.put(name(4), b"")
    assert objects(tmp_path) == [name(4)]


def test_an_empty_spool_begins_a_chain(tmp_path: Path) -> None:
    held = spool(tmp_path)
    assert held.oldest_ns() is None
    assert open_chain(tmp_path / "none.json", INSTANCE, held).link.hash == FIRST


def test_a_damaged_object_is_set_aside_and_takes_no_part_any_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    held = filled(tmp_path, 2)
    assert held.complete(name(2))
    held.path(name(2)).write_bytes(CONTENT[:50])
    held = spool(tmp_path)
    assert not held.complete(name(2))
    kept = tmp_path / "spool" / "damaged" / Path(name(2)).name
    assert kept.read_bytes() == CONTENT[:50]
    assert f"set aside as damaged: {kept}" in caplog.text
    assert (held.size_bytes(), len(held.backlog)) == (100, 1)
    again = spool(tmp_path)
    assert (again.size_bytes(), len(again.backlog)) == (100, 1)
    assert not again.complete(name(2))


def test_a_damaged_object_that_cannot_be_moved_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    held = filled(tmp_path, 1)
    (tmp_path / "spool" / "damaged").touch()
    assert held.set_aside(name(1)).name == name(1)
    assert "cannot be moved" in caplog.text
    assert len(held.backlog) == 0
    held.path(name(1)).unlink()
    assert held.set_aside(name(1)) == Evicted(name(1), 0, None)


def test_what_the_store_has_and_cannot_be_removed_goes_with_the_next_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    held = filled(tmp_path, 2)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", lambda _: (_ for _ in ()).throw(OSError(errno.EROFS, os.strerror(errno.EROFS))))
        held.stored(name(1))
    assert "cannot be removed though the store has it" in caplog.text
    assert objects(tmp_path) == [name(1), name(2)]
    held.put(name(3), CONTENT)
    assert objects(tmp_path) == [name(2), name(3)]
    assert held.size_bytes() == 200
