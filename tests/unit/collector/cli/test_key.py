from __future__ import annotations

from pathlib import Path

import pytest

from collector.archive.keyfile import INSTANCE_PRIVATE, READER_PRIVATE, READER_PUBLIC, identity, write_key
from collector.cli.main import main
from collector.reading.keys import ReaderKey
from tests.unit.collector.aggregator.making import OTHER_RAW, READER_PUBLIC_RAW, READER_RAW
from tests.unit.collector.reading.making import write_chain

OTHER = ReaderKey(OTHER_RAW)
READER_ID = identity(READER_PUBLIC_RAW).hex()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "reader.key").write_text(write_key(READER_PRIVATE, READER_RAW))
    (tmp_path / "reader.pub").write_text(write_key(READER_PUBLIC, READER_PUBLIC_RAW))
    (tmp_path / "other.key").write_text(write_key(READER_PRIVATE, OTHER_RAW))
    (tmp_path / "other.pub").write_text(write_key(READER_PUBLIC, OTHER.public_raw))
    write_chain(tmp_path / "archive", 3)
    return tmp_path


def key(*words: object) -> int:
    return main(["key", *map(str, words)])


def reads(folder: Path, name: str) -> bool:
    return main(["verify", str(folder / "archive"), "--key", str(folder / f"{name}.key")]) == 0


def test_a_key_file_is_described_without_its_secret(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("reader.key", "reader.pub"):
        assert key("show", folder / name) == 0
        shown = capsys.readouterr().out
        assert f"id:     {READER_ID}" in shown
        assert write_key(READER_PUBLIC, READER_PUBLIC_RAW) in shown
        assert write_key(READER_PRIVATE, READER_RAW) not in shown
    (folder / "instance.key").write_text(write_key(INSTANCE_PRIVATE, bytes(range(32))))
    assert key("show", folder / "instance.key") == 0
    assert "id:     56475aa75463474c0285df5dbf2bcab7" in capsys.readouterr().out


def test_recipients_are_listed_without_a_key(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert key("recipients", folder / "archive") == 0
    assert capsys.readouterr().out == f"{READER_ID}  3 of 3 objects\n"


def test_another_reader_is_let_in_and_nothing_but_stanzas_changes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: (path.read_bytes(), path.stat()) for path in (folder / "archive").rglob("*.querytap")}
    change = ["reseal", folder / "archive", "--key", folder / "reader.key", "--add", folder / "other.pub"]
    assert key(*change) == 0
    assert "3 objects sealed anew, 0 were as wanted" in capsys.readouterr().out
    assert reads(folder, "reader")
    assert reads(folder, "other")
    for path, (data, status) in before.items():
        assert len(path.read_bytes()) == len(data) + 100
        assert path.stat().st_mtime_ns == status.st_mtime_ns
        assert path.stat().st_mode == status.st_mode
    capsys.readouterr()
    assert key(*change) == 0
    assert "0 objects sealed anew, 3 were as wanted" in capsys.readouterr().out
    assert key("reseal", folder / "archive", "--key", folder / "other.key", "--remove", READER_ID) == 0
    assert not reads(folder, "reader")
    assert reads(folder, "other")


def test_an_object_that_nobody_could_open_any_more_is_left_as_it_is(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change = ["reseal", folder / "archive", "--key", folder / "reader.key", "--remove", folder / "reader.pub"]
    assert key(*change) == 1
    assert "nobody could open it any more" in capsys.readouterr().err
    assert reads(folder, "reader")


def test_what_does_not_open_is_said_and_left_and_the_rest_is_done(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "archive" / "notes.txt").write_text("notes")
    assert key("reseal", folder / "archive", "--key", folder / "reader.key", "--add", folder / "other.pub") == 1
    shown = capsys.readouterr()
    assert "notes.txt: not a querytap object" in shown.err
    assert "3 objects sealed anew, 0 were as wanted, 1 left as they are" in shown.out
    assert (folder / "archive" / "notes.txt").read_text() == "notes"
    assert not list((folder / "archive").rglob(".*"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "nowhere"], "nowhere cannot be read: No such file"),
        (["show", "archive"], "cannot be read"),
        (["reseal", "archive"], "--key: is needed"),
        (["reseal", "archive", "--key", "reader.key"], "nothing to do"),
        (
            ["reseal", "archive", "--key", "reader.key", "--add", "reader.key"],
            "or querytap-public-mlkem768-x25519 key is needed",
        ),
        (["reseal", "archive", "--key", "reader.key", "--add", "nowhere"], "nowhere cannot be read"),
    ],
)
def test_wrong_usage_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(folder)
    assert key(*words) == 2
    assert message in capsys.readouterr().err


def test_a_store_gets_the_object_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from obstore.store import LocalStore

    store = LocalStore(folder / "archive")

    class Store:
        """As a store elsewhere; a local one of obstore cannot be told from it."""

        list, get, get_range, put = store.list, store.get, store.get_range, store.put

    monkeypatch.setattr("collector.reading.stored.opened", lambda *_: Store())
    assert key("reseal", "s3://bucket", "--key", folder / "reader.key", "--add", folder / "other.pub") == 0
    assert reads(folder, "other")
