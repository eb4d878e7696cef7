from __future__ import annotations

import json
from pathlib import Path

import pytest

from collector.cli.main import main
from tests.unit.collector.aggregator.making import SECOND, START_NS
from tests.unit.collector.reading.making import block, write_object


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    folder = tmp_path / "archive"
    for number in range(1, 4):
        write_object(folder, block(b"SELECT %d" % number, b"DELETE FROM t"), block(b"select 9"),
                     sequence=number, first_ns=START_NS + number * SECOND)  # fmt: skip
    return folder


def digest(*words: object) -> int:
    return main(["digest", *map(str, words)])


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_load_is_that_of_all_objects(
    archive: Path, key: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    monkeypatch.setattr("collector.reading.pool._WORTH_BYTES", 0)
    assert digest(archive, "--key", key, "--rank", "count", "--jobs", jobs) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("9 statements, ")
    assert [line.split()[2] for line in lines[-2:]] == ["6", "3"]
    assert lines[-2].endswith("e1c71d1661ae46e0  select ?")


def test_programs_get_json(archive: Path, key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert digest(archive, "--key", key, "--by", "user", "--format", "json", "--text", "delete") == 0
    record = json.loads(capsys.readouterr().out)
    assert [(group["user"], group["count"]) for group in record["groups"]] == [("app", 3)]


def test_what_cannot_be_read_is_said_and_the_rest_is_summed(
    archive: Path, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (archive / "notes.txt").write_text("notes")
    assert digest(archive, "--key", key) == 1
    shown = capsys.readouterr()
    assert "notes.txt: not a querytap object" in shown.err
    assert shown.out.startswith("9 statements")


def test_an_archive_that_is_not_there_is_said(tmp_path: Path, key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert digest(tmp_path / "nowhere", "--key", key) == 1
    assert "no such archive" in capsys.readouterr().err


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        digest("--help")
    assert "Example: querytap digest" in capsys.readouterr().out
