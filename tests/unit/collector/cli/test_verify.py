from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from collector.aggregator.store import LocalFolder
from collector.archive.keyfile import READER_PRIVATE, write_key
from collector.archive.layout import SIGNATURE_BYTES
from collector.cli.main import main
from tests.unit.collector.aggregator.making import OTHER_RAW, header
from tests.unit.collector.reading.making import write_chain


def verify(*words: object) -> int:
    return main(["verify", *map(str, words)])


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("keyed", [False, True])
def test_a_whole_archive_has_no_problem(
    tmp_path: Path, key: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    jobs: int, keyed: bool,
) -> None:  # fmt: skip
    monkeypatch.setattr("collector.reading.pool._WORTH_BYTES", 0)
    write_chain(tmp_path / "archive", 5)
    assert verify(tmp_path / "archive", "--jobs", jobs, *(["--key", key] if keyed else [])) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert f"db1 (instance {header().instance}): objects 1 to 5, 5 of them here with 10 statements" in shown.out
    assert ("every statement: no problems" in shown.out) is keyed


def remove(paths: list[Path]) -> None:
    paths[2].unlink()


def remove_two(paths: list[Path]) -> None:
    paths[1].unlink()
    paths[2].unlink()


def cut(paths: list[Path]) -> None:
    paths[2].write_bytes(paths[2].read_bytes()[: -SIGNATURE_BYTES - 10])


def cut_in_the_header(paths: list[Path]) -> None:
    paths[2].write_bytes(paths[2].read_bytes()[:40])


def flip(paths: list[Path]) -> None:
    data = bytearray(paths[2].read_bytes())
    data[-SIGNATURE_BYTES - 1] ^= 1
    paths[2].write_bytes(data)


def copy(paths: list[Path]) -> None:
    other = paths[2].with_name(paths[2].name.replace("0000000003", "0000000009"))
    shutil.copy(paths[2], other)


def copy_to_another_folder(paths: list[Path]) -> None:
    other = paths[2].parents[2] / "copy" / Path(*paths[2].parts[-3:])
    other.parent.mkdir(parents=True)
    shutil.copy(paths[2], other)


def swap_names(paths: list[Path]) -> None:
    other = paths[2].with_name("x")
    paths[2].rename(other)
    paths[3].rename(paths[2])
    other.rename(paths[3])


def foreign(paths: list[Path]) -> None:
    (paths[2].parent / "notes.txt").write_text("notes")


def fork(paths: list[Path]) -> None:
    write_chain(paths[2].parents[2], 5, run="other")
    for path in write_chain(paths[2].parents[2], 5, run="other"):
        if "_0000000003_" not in path.name:
            path.unlink()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (remove, ["object 3 is missing", "counts 10 statements stored from object 1 to 5, the objects here hold 8"]),
        (remove_two, ["objects 2 to 3 are missing", "the objects here hold 6"]),
        (cut, ["truncated in frame 1 of 2"]),
        (cut_in_the_header, ["truncated in its header", "the objects here hold 8"]),
        (flip, ["end signature does not fit"]),
        (copy, ["it has been renamed", "object 3 is not in its place"]),
        (copy_to_another_folder, ["object 3 is there twice"]),
        (swap_names, ["renamed", "renamed"]),
        (foreign, ["notes.txt: not a querytap object"]),
        (fork, ["two objects have the number 3", "set back to an earlier state"]),
    ],
)
def test_what_is_missing_out_of_place_cut_or_forged_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[list[Path]], None], said: list[str]
) -> None:
    damage(write_chain(tmp_path / "archive", 5))
    assert verify(tmp_path / "archive") == 1
    shown = capsys.readouterr()
    for text in said:
        assert text in shown.err
    assert "no problems" not in shown.out


def test_an_object_that_follows_another_than_is_there_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = write_chain(tmp_path / "archive", 5)
    shutil.copytree(tmp_path / "archive", tmp_path / "other")
    paths[2].unlink()
    # The instance's own key, but not the object that the next one was chained to.
    for path in write_chain(tmp_path / "archive", 3, software="another"):
        if "_0000000003_" not in path.name:
            path.unlink()
    for path in paths[:2]:
        shutil.copy(tmp_path / "other" / path.relative_to(tmp_path / "archive"), path)
    assert verify(tmp_path / "archive") == 1
    assert "object 4 does not follow object 3" in capsys.readouterr().err


def test_what_statements_a_header_says_is_compared_with_those_that_are_there(
    tmp_path: Path, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_chain(tmp_path / "archive", 1, counts={"statements": 3})
    assert verify(tmp_path / "archive", "--key", key) == 1
    assert "holds 2 statements, its header says 3" in capsys.readouterr().err
    key.write_text(write_key(READER_PRIVATE, OTHER_RAW))
    assert verify(tmp_path / "archive", "--key", key) == 1
    assert "not sealed for this key" in capsys.readouterr().err


def test_a_ledger_that_does_not_balance_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    statements = {"decoded": 9, "shipped": 2, "filtered": 1, "lost": 1, "evicted": 0, "held": 0}
    workers = {"0": {"statements": statements, "packets": {"dropped": 7}, "faults": ["a fault"]}}
    write_chain(tmp_path / "archive", 1, ledger={"workers": workers, "objects_stored": 1})
    assert verify(tmp_path / "archive") == 1
    shown = capsys.readouterr()
    assert "worker 0 does not balance: a fault" in shown.err
    assert "worker 0 does not balance: 9 statements decoded, 4 accounted for" in shown.err
    assert "its own account, of 1 runs: 1 statements lost, 7 packets dropped by the kernel" in shown.out


def test_a_part_of_the_time_and_a_part_of_the_instances_can_be_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = write_chain(tmp_path / "archive", 5)
    paths[0].unlink()
    assert verify(tmp_path / "archive", "--since", "2023-11-14T22:15:00Z", "--instance", header().instance) == 0
    shown = capsys.readouterr().out
    assert "objects 2 to 5, 4 of them here with 8 statements" in shown
    assert "objects before 2 are not here" in shown
    assert verify(tmp_path / "archive", "--instance", "0" * 32) == 1
    assert verify(tmp_path / "archive", "--since", "soon") == 2


def test_the_oldest_may_have_been_removed_by_the_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_chain(tmp_path / "archive", 5)
    folder = LocalFolder(tmp_path / "archive", 1, 0)
    going = folder.make_room(1)
    assert next(going).name
    assert next(going).name  # which has removed the first
    assert verify(tmp_path / "archive") == 0
    assert "objects 2 to 5" in capsys.readouterr().out


def test_programs_get_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_chain(tmp_path / "archive", 2)
    assert verify(tmp_path / "archive", "--format", "json") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["problems"] == 0
    (instance,) = record["instances"]
    assert (instance["hosts"], instance["objects"], instance["statements"]) == (["db1"], 2, 4)


def test_an_archive_that_is_not_there_or_empty_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(tmp_path / "nowhere") == 1
    assert "no such archive" in capsys.readouterr().err
    assert verify(tmp_path) == 1
    assert "holds no object" in capsys.readouterr().err
