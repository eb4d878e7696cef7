from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.aggregator import store as stores
from collector.aggregator.store import LocalFolder, TransportError
from collector.archive.names import ObjectName, write_name
from collector.config import StartError, from_mapping
from tests.unit.collector.aggregator.making import SECOND, START_NS, filler, hash_start, header, sealed

INSTANCE = "0123456789abcdef" * 2
MIB = 1 << 20


def name(sequence: int, instance: str = INSTANCE) -> str:
    at_ns = START_NS + sequence * 3600 * SECOND
    return write_name(ObjectName(instance, at_ns, at_ns + SECOND, sequence, "0" * 16))


def folder(tmp_path: Path, max_bytes: int = 100 * MIB, min_free_percent: int = 0) -> LocalFolder:
    return LocalFolder(tmp_path / "archive", max_bytes, min_free_percent)


def objects(tmp_path: Path) -> list[str]:
    root = tmp_path / "archive"
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_an_object_is_written_whole_for_its_owner_alone(tmp_path: Path) -> None:
    folder(tmp_path).put(name(1), b"data")
    path = tmp_path / "archive" / name(1)
    assert path.read_bytes() == b"data"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert objects(tmp_path) == [name(1)]


def test_writing_the_same_object_again_is_success_and_changes_nothing(tmp_path: Path) -> None:
    store = folder(tmp_path)
    store.put(name(1), b"data")
    store.put(name(1), b"data")
    assert store.size_bytes() == 4


def test_an_object_is_never_overwritten(tmp_path: Path) -> None:
    store = folder(tmp_path)
    store.put(name(1), b"data")
    with pytest.raises(TransportError, match="differs") as caught:
        store.put(name(1), b"other data")
    assert not caught.value.retry
    assert (tmp_path / "archive" / name(1)).read_bytes() == b"data"


def test_the_oldest_objects_go_until_the_new_one_fits(tmp_path: Path) -> None:
    store = folder(tmp_path, max_bytes=250)
    for sequence in (1, 2):
        store.put(name(sequence), bytes(100))
    assert [evicted.name for evicted in store.make_room(100)] == [name(1)]
    store.put(name(3), bytes(100))
    assert objects(tmp_path) == [name(2), name(3)]
    assert store.size_bytes() == 200


def test_the_oldest_goes_whichever_instance_wrote_it(tmp_path: Path) -> None:
    store = folder(tmp_path, max_bytes=250)
    for at, each in enumerate((name(2, "f" * 32), name(1))):
        store.put(each, bytes(100))
        os.utime(tmp_path / "archive" / each, (at, at))
    assert [evicted.name for evicted in store.make_room(100)] == [name(2, "f" * 32)]


def test_the_times_that_workers_give_do_not_decide_what_goes_first(tmp_path: Path) -> None:
    store = folder(tmp_path, max_bytes=350)
    names = [write_name(ObjectName(INSTANCE, at_ns, at_ns, 1 + at, "0" * 16)) for at, at_ns in enumerate((2**63, 5, 1))]
    for each in names:
        store.put(each, bytes(100))
    assert [evicted.name for evicted in store.make_room(100)] == names[:1]
    again = folder(tmp_path, max_bytes=250)  # and what was there before a start is known too
    assert [evicted.name for evicted in again.make_room(100)] == names[1:2]


def test_what_others_have_taken_away_is_passed_over(tmp_path: Path) -> None:
    store = folder(tmp_path, max_bytes=450)
    for sequence in (1, 2, 30, 31):
        store.put(name(sequence), bytes(100))
    for sequence in (1, 2, 30):
        (tmp_path / "archive" / name(sequence)).unlink()
    assert [evicted.name for evicted in store.make_room(400)] == [name(31)]
    assert list(folder(tmp_path, max_bytes=1).make_room(100)) == []


def test_what_is_no_object_is_neither_counted_nor_removed(tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "notes.txt").write_bytes(bytes(1000))
    store = folder(tmp_path, max_bytes=250)
    assert store.size_bytes() == 0
    assert list(store.make_room(300)) == []
    assert objects(tmp_path) == ["notes.txt"]


def test_a_full_disk_removes_the_oldest_but_leaves_a_floor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = folder(tmp_path, min_free_percent=90)
    monkeypatch.setattr(stores, "FLOOR_BYTES", 250)
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result((4096, 4096, 1000, 100, 100, 1, 1, 1, 0, 255)))
    for sequence in (1, 2, 3, 4):
        store.put(name(sequence), bytes(100))
    assert [evicted.name for evicted in store.make_room(100)] == [name(1), name(2), name(3)]
    assert objects(tmp_path) == [name(4)]


def test_an_evicted_object_tells_its_statements_when_it_is_of_this_run(tmp_path: Path) -> None:
    store = folder(tmp_path, max_bytes=10)
    store.put(name(1), sealed([], header(run="this", counts={"workers": {"0": 7, "3": 2}})))
    (evicted,) = store.make_room(1)
    assert evicted.statements("this") == {0: 7, 3: 2}
    assert evicted.statements("other") == {}


def test_an_evicted_object_that_is_damaged_is_removed_all_the_same(tmp_path: Path) -> None:
    store = folder(tmp_path, max_bytes=10)
    store.put(name(1), b"no object at all")
    (evicted,) = store.make_room(1)
    assert evicted.statements("this") == {}
    assert objects(tmp_path) == []


def test_a_new_start_finds_what_is_there_and_clears_interrupted_writes(tmp_path: Path) -> None:
    folder(tmp_path).put(name(1), b"data")
    whole = tmp_path / "archive" / name(1)
    whole.with_name(f".{whole.name}.12345678.aside").write_bytes(b"half")
    assert folder(tmp_path).size_bytes() == 4
    assert objects(tmp_path) == [name(1)]


def test_the_newest_object_is_that_of_the_highest_sequence(tmp_path: Path) -> None:
    store = folder(tmp_path)
    assert store.newest(INSTANCE) is None
    for sequence in (3, 11, 2):
        store.put(name(sequence), b"data")
    assert store.newest(INSTANCE) == tmp_path / "archive" / name(11)


def test_a_folder_that_cannot_be_made_is_a_start_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StartError, match="cannot be used"):
        LocalFolder(tmp_path / "file" / "archive", MIB, 0)


def test_a_write_that_fails_may_be_tried_again(tmp_path: Path) -> None:
    store = folder(tmp_path)
    (tmp_path / "archive" / INSTANCE).touch()  # where a folder has to be
    with pytest.raises(TransportError) as caught:
        store.put(name(1), b"data")
    assert caught.value.retry


def test_other_bounds_hold_from_the_next_object_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = folder(tmp_path)
    for sequence in (1, 2):
        store.put(name(sequence), bytes(MIB))
    assert list(store.make_room(MIB)) == []
    store.adapt(from_mapping({"store": {"local_max_mib": 2, "min_free_percent": 0}, "batch": {"max_mib": 1}}))
    assert [evicted.name for evicted in store.make_room(MIB)] == [name(1)]
    store.adapt(from_mapping({"store": {"min_free_percent": 90}}))
    monkeypatch.setattr(stores, "FLOOR_BYTES", 0)
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result((4096, 4096, 9000, 5000, 5000, 1, 1, 1, 0, 255)))
    assert [evicted.name for evicted in store.make_room(MIB)] == [name(2)]


def test_a_disk_without_room_removes_the_oldest_whatever_the_floor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = folder(tmp_path)
    for sequence in (1, 2, 3):
        store.put(name(sequence), bytes(stores.SPARE_BYTES))
    free = iter((10, 70, 1000, 10))  # blocks
    monkeypatch.setattr(
        os, "statvfs", lambda _: os.statvfs_result((4096, 4096, 9000, (left := next(free)), left, 1, 1, 1, 0, 255))
    )
    assert [evicted.name for evicted in store.make_room(30000)] == [name(1), name(2)]
    assert list(store.make_room(stores.SPARE_BYTES)) == [], "it would be no room all the same"


def test_what_is_to_go_is_there_until_the_next_one_is_asked_for(tmp_path: Path) -> None:
    store = folder(tmp_path, max_bytes=250)
    for sequence in (1, 2):
        store.put(name(sequence), bytes(100))
    assert next(store.make_room(200)).name == name(1)
    assert objects(tmp_path) == [name(1), name(2)]


def test_an_object_is_complete_when_its_content_is_what_its_name_says(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store, data = folder(tmp_path), filler(500)
    whole = write_name(ObjectName(INSTANCE, 1, 2, 3, hash_start(data)))
    assert not store.complete(whole)
    store.put(whole, data)
    assert store.complete(whole)
    for cut in (data[:400], b"", data[:-1] + b"!"):
        (tmp_path / "archive" / whole).write_bytes(cut)
        assert not store.complete(whole)
    assert "is damaged: its content is not what its name says" in caplog.text
    assert "is damaged: not a querytap object" in caplog.text
    (tmp_path / "archive" / whole).unlink()
    (tmp_path / "archive" / whole).mkdir()
    with pytest.raises(TransportError, match="Is a directory"):
        store.complete(whole)


def test_folders_that_others_remove_are_made_again(tmp_path: Path) -> None:
    store = folder(tmp_path)
    store.put(name(1), b"data")
    shutil.rmtree(tmp_path / "archive" / INSTANCE)
    with pytest.raises(TransportError, match="make the folder"):
        store.put(name(1), b"data")
    store.put(name(1), b"data")
    assert objects(tmp_path) == [name(1)]


@pytest.mark.parametrize("call", ["unlink", "statvfs"])
def test_what_cannot_be_removed_is_trouble_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    store = folder(tmp_path, max_bytes=150)
    store.put(name(1), bytes(100))
    before = store.size_bytes()

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, call, refuse)
    with pytest.raises(TransportError, match=r"Read-only file system; .*remount,rw") as caught:
        list(store.make_room(100))
    assert caught.value.retry
    assert store.size_bytes() == before


def test_a_folder_that_is_closed_to_us_is_told_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = folder(tmp_path)
    for each in (name(1), name(1, "f" * 32)):
        store.put(each, bytes(100))
    real = Path.iterdir

    def refuse(path: Path) -> Iterator[Path]:
        if path.name == "f" * 32:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(path)

    monkeypatch.setattr(Path, "iterdir", refuse)
    assert folder(tmp_path).size_bytes() == 100
    assert f"{'f' * 32}: Permission denied; let process.user" in caplog.text


def test_an_object_is_removed_by_its_name_and_one_that_is_not_there_is_no_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = folder(tmp_path)
    store.put(name(1), b"data")
    for _ in range(2):
        store.remove(name(1))
    assert (objects(tmp_path), store.size_bytes()) == ([], 0)

    def refuse(_: Path) -> bool:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "exists", refuse)
    with pytest.raises(TransportError, match=r"let process\.user"):
        store.remove(name(1))


def test_what_others_have_removed_is_no_part_of_its_size_once_the_oldest_are_to_go(tmp_path: Path) -> None:
    store = folder(tmp_path, max_bytes=100)
    for sequence in range(1, 11):
        store.put(name(sequence), bytes(10))
    for sequence in range(1, 5):
        (tmp_path / "archive" / name(sequence)).unlink()
    assert list(store.make_room(10)) == []
    assert store.size_bytes() == 60
    assert [evicted.name for evicted in store.make_room(50)] == [name(5)]
