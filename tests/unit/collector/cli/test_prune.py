from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from collector.archive.names import read_pruned
from collector.cli.main import main
from collector.reading import removing
from tests.unit.collector.aggregator.making import START_NS, header
from tests.unit.collector.reading.making import write_chain

pytestmark = pytest.mark.either_build

INSTANCE = header().instance
THREE = "2023-11-14T22:16:30Z"  # what is before it is of objects 1 to 3


def prune(*words: object) -> int:
    return main(["prune", *map(str, words)])


def verify(*words: object) -> int:
    return main(["verify", *map(str, words)])


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    assert START_NS // 1_000_000_000 == 1_700_000_000, "2023-11-14T22:13:20Z: an object each minute from a minute later"
    write_chain(tmp_path / "archive", 5)
    return tmp_path / "archive"


def objects(archive: Path) -> int:
    return len(list(archive.rglob("*.querytap")))


def notes(archive: Path) -> list[tuple[int, str]]:
    found = [read_pruned(str(path)) for path in archive.rglob("*.json")]
    return [(note.through, note.hash_start) for note in found if note]


def test_what_is_older_goes_and_verify_misses_nothing(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    third = sorted(archive.rglob("*.querytap"))[2]
    assert prune(archive, "--older-than", THREE) == 0
    shown = capsys.readouterr().out
    assert f"instance {INSTANCE}: 3 objects, 0.0 MiB, through object 3 of 2023-11-14T22:16:21" in shown
    assert "3 objects, 0.0 MiB, removed" in shown
    assert objects(archive) == 2
    assert notes(archive) == [(3, third.stem.rpartition("_")[2])]
    assert verify(archive) == 0
    assert "objects up to 3 were removed by `querytap prune`" in capsys.readouterr().out
    assert prune(archive, "--older-than", THREE) == 0, "once more there is nothing to do"
    assert objects(archive) == 2


def test_a_dry_run_removes_nothing(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prune(archive, "--older-than", THREE, "--dry-run", "--format", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["removed"] is False
    assert [(each["objects"], each["through"]) for each in told["instances"]] == [(3, 3)]
    assert (objects(archive), notes(archive)) == (5, [])


def test_the_newest_note_alone_stays_and_an_instance_may_go_as_a_whole(
    archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prune(archive, "--older-than", THREE) == 0
    assert prune(archive, "--max-size", "0MiB") == 0
    assert (objects(archive), [through for through, _ in notes(archive)]) == (0, [5])
    assert {path.name for path in (archive / INSTANCE).iterdir()} == {"pruned"}, "a day without objects is no folder"
    capsys.readouterr()
    assert verify(archive, "--instance", INSTANCE) == 1
    shown = capsys.readouterr()
    assert f"(instance {INSTANCE}): no object" in shown.out
    assert "holds no object" in shown.err


def test_what_is_missing_behind_those_that_were_pruned_is_found(
    archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prune(archive, "--older-than", THREE) == 0
    min(archive.rglob("*.querytap")).unlink()
    capsys.readouterr()
    assert verify(archive) == 1
    assert "object 4 is missing" in capsys.readouterr().err
    assert verify(archive, "--since", "2023-11-14T22:18:00Z") == 0, "of a part of the time the beginning may be missing"


def test_a_note_that_does_not_fit_is_found(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prune(archive, "--older-than", THREE) == 0
    (note,) = (archive / INSTANCE / "pruned").iterdir()
    note.rename(note.with_name("0000000003_0123456789abcdef.json"))
    capsys.readouterr()
    assert verify(archive) == 1
    assert "object 4 does not follow object 3" in capsys.readouterr().err


def test_one_that_was_stopped_is_finished_by_the_next_and_misses_nothing_meanwhile(
    archive: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    remove = removing._Folder.remove  # noqa: SLF001  # the only way to stop in the middle of a request

    def second_alone(self: removing._Folder, paths: Sequence[str]) -> None:
        remove(self, paths[1:2])
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(removing._Folder, "remove", second_alone)  # noqa: SLF001
        assert prune(archive, "--older-than", THREE) == 1
    assert f"instance {INSTANCE}: Input/output error: run it again to remove the rest" in capsys.readouterr().err
    assert (objects(archive), [through for through, _ in notes(archive)]) == (4, [3])
    assert verify(archive) == 0
    assert prune(archive, "--older-than", THREE) == 0
    assert (objects(archive), [through for through, _ in notes(archive)]) == (2, [3])
    assert verify(archive) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "say what goes, with --older-than or --max-size"),
        (("--older-than", "often"), "'often' is no time"),
        (("--older-than", "2999-01-01"), "2999-01-01 is yet to come"),
        (("--max-size", "5"), "'5' is no size: write 500GiB"),
    ],
)
def test_what_is_meant_must_be_clear(
    archive: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    assert prune(archive, *words) == 2
    assert message in capsys.readouterr().err
    assert objects(archive) == 5


def test_what_cannot_be_removed_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prune(tmp_path / "nowhere", "--older-than", "1d") == 1
    assert "there is no such archive" in capsys.readouterr().err
