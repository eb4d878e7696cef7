from __future__ import annotations

from pathlib import Path

import obstore
import pytest
from obstore.store import LocalStore

from collector.archive.names import ObjectName
from collector.reading.archive import ArchiveError, Entry, contradiction, gaps, list_archive
from tests.unit.collector.aggregator.making import SECOND, START_NS, header
from tests.unit.collector.reading.making import write_object


def sequences(entries: list[Entry]) -> list[int]:
    return [entry.name.sequence if entry.name else 0 for entry in entries]


def hour(number: int) -> dict[str, int]:
    at_ns = START_NS + number * 3600 * SECOND
    return {"sequence": number, "first_ns": at_ns, "last_ns": at_ns + 10 * SECOND}


def test_objects_come_in_order_of_time_and_what_is_not_ours_comes_last(tmp_path: Path) -> None:
    for number in (3, 1, 30):
        write_object(tmp_path, **hour(number))
    (tmp_path / "0-notes.txt").write_text("notes")
    (tmp_path / ".writing").write_text("half an object")
    entries = list_archive(str(tmp_path))
    assert sequences(entries) == [1, 3, 30, 0]
    assert entries[-1].path == "0-notes.txt"


def test_objects_of_one_instance_come_by_sequence_whatever_its_clock_said(tmp_path: Path) -> None:
    for sequence, told in ((1, 10), (2, 3), (3, 11)):  # set back before the second
        write_object(tmp_path, **{**hour(told), "sequence": sequence})
    write_object(tmp_path, **{**hour(10), "sequence": 7}, instance="f" * 32)
    entries = list_archive(str(tmp_path))
    assert sequences(entries) == [1, 2, 7, 3]


@pytest.mark.parametrize("form", ["{}", "{}/", "file://{}"])
def test_a_folder_is_named_by_path_or_url(tmp_path: Path, form: str) -> None:
    write_object(tmp_path)
    assert len(list_archive(form.format(tmp_path))) == 1


def test_one_object_is_an_archive_too(tmp_path: Path) -> None:
    path = write_object(tmp_path, sequence=5)
    (entry,) = list_archive(str(path))
    assert entry.name is not None
    assert entry.name.sequence == 5
    with entry.open() as stream:
        assert stream.read() == path.read_bytes()


def test_an_archive_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="no such archive"):
        list_archive(str(tmp_path / "nowhere"))


def test_names_tell_which_objects_a_time_span_needs(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        write_object(tmp_path, **hour(number))
    start_ns = START_NS + 2 * 3600 * SECOND
    entries = list_archive(str(tmp_path))
    needed = [entry for entry in entries if entry.within(start_ns + 10 * SECOND, start_ns + 60 * SECOND)]
    assert sequences(needed) == [2]
    assert sequences([entry for entry in entries if entry.within(None, None)]) == [1, 2, 3]
    assert sequences([entry for entry in entries if entry.within(start_ns + 11 * SECOND, None)]) == [3]
    assert sequences([entry for entry in entries if entry.within(None, start_ns - 1)]) == [1]


def test_a_missing_or_doubled_object_shows(tmp_path: Path) -> None:
    for number in (1, 2, 4, 8):
        write_object(tmp_path, **hour(number))
    copy = write_object(tmp_path, **hour(2))
    copy.with_name(copy.name.replace("0" * 16, "1" * 16)).write_bytes(copy.read_bytes())
    instance = header().instance
    assert list(gaps(list_archive(str(tmp_path)))) == [
        f"instance {instance}: object 2 is there twice",
        f"instance {instance}: object 3 is missing",
        f"instance {instance}: objects 5 to 7 are missing",
    ]


def test_the_oldest_may_be_gone_without_a_gap(tmp_path: Path) -> None:
    write_object(tmp_path, **hour(7))
    assert list(gaps(list_archive(str(tmp_path)))) == []


def test_a_renamed_object_contradicts_its_header() -> None:
    made = header()
    name = ObjectName(made.instance, made.first_ns, made.last_ns, made.sequence, "0" * 16)
    assert contradiction(name, made) is None
    assert contradiction(None, made) is None
    assert "renamed" in str(contradiction(name, header(sequence=2)))


def test_a_store_is_listed_and_read_by_its_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_object(tmp_path, sequence=5)
    monkeypatch.setattr(obstore.store, "from_url", lambda _, **__: LocalStore(tmp_path))
    (entry,) = list_archive("s3://bucket/archive")
    assert entry.name is not None
    assert entry.name.sequence == 5
    with entry.open() as stream:
        assert stream.read() == path.read_bytes()
    path.unlink()
    with entry.open() as stream, pytest.raises(OSError, match="not found"):
        stream.read()


def test_a_store_that_cannot_be_reached_is_an_error() -> None:
    with pytest.raises(ArchiveError, match="nonsense"):
        list_archive("nonsense://bucket")
