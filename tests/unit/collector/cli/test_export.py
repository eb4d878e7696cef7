from __future__ import annotations

from pathlib import Path

import pyarrow.dataset
import pyarrow.parquet
import pytest

from collector.cli.main import main
from collector.reading import parquet
from tests.unit.collector.aggregator.making import SECOND, START_NS
from tests.unit.collector.reading.making import block, body, planes, write_chain, write_object

DAY_NS = 86_400 * SECOND


def export(*words: object) -> int:
    return main(["export", *map(str, words)])


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("jobs", [1, 2])
def test_statements_are_in_a_folder_a_host_and_a_day(
    tmp_path: Path, key: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    monkeypatch.setattr("collector.reading.pool._WORTH_BYTES", 0)
    monkeypatch.setattr(parquet, "MOST_ROWS", 2)
    write_chain(tmp_path / "archive", 3)
    later = {"first_ns": START_NS + DAY_NS, "last_ns": START_NS + DAY_NS + SECOND}
    head, _ = block(b"SELECT 9", **later)
    write_object(
        tmp_path / "archive", (head, body(b"SELECT 9", base_ns=START_NS + DAY_NS)), sequence=4, host="d/b", **later
    )
    out = tmp_path / "out"
    for _ in range(2):  # a second time writes the same files
        assert export(archive := tmp_path / "archive", "--key", key, "--to", out, "--jobs", jobs) == 0
        assert capsys.readouterr().out == f"7 statements in {out}\n"
    assert archive.exists()
    assert [name.rsplit("/", 1)[0] for name in files(out)] == [
        "host=d%2Fb/day=2023-11-15", "host=db1/day=2023-11-14",
    ]  # fmt: skip
    table = pyarrow.dataset.dataset(out, partitioning="hive").to_table()
    assert sorted(table["sql"].to_pylist()) == ["SELECT 0"] * 3 + ["SELECT 1", "SELECT 2", "SELECT 3", "SELECT 9"]
    assert set(table["user"].to_pylist()) == {"app"}
    one = pyarrow.parquet.read_table(out / files(out)[1])
    assert one["time"].cast("int64").to_pylist() == [START_NS, START_NS + SECOND] * 3


def test_only_what_is_asked_for_is_written(tmp_path: Path, key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_chain(tmp_path / "archive", 2)
    assert export(tmp_path / "archive", "--key", key, "--to", tmp_path / "out", "--text", "select 2") == 0
    assert capsys.readouterr().out.startswith("1 statements")
    assert export(tmp_path / "archive", "--key", key, "--to", tmp_path / "none", "--text", "nothing") == 0
    assert files(tmp_path / "none") == []


def test_what_cannot_be_read_is_said_and_the_rest_is_written(
    tmp_path: Path, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_chain(tmp_path / "archive", 2)
    (tmp_path / "archive" / "notes.txt").write_text("notes")
    assert export(tmp_path / "archive", "--key", key, "--to", tmp_path / "out") == 1
    shown = capsys.readouterr()
    assert "notes.txt: not a querytap object" in shown.err
    assert shown.out.startswith("4 statements")


def test_an_object_cannot_make_as_many_files_as_it_likes(
    tmp_path: Path, key: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "MOST_DAYS", 3)
    days = {"time": planes([2 * DAY_NS] * 5)}
    head, _ = block(*[b"SELECT 1"] * 5, last_ns=START_NS + 5 * DAY_NS)
    write_object(tmp_path / "archive", (head, body(*[b"SELECT 1"] * 5, columns=days)), last_ns=START_NS + 5 * DAY_NS)
    assert export(tmp_path / "archive", "--key", key, "--to", tmp_path / "out") == 1
    assert "statements of more than 3 days" in capsys.readouterr().err
    assert len(files(tmp_path / "out")) == 3


def test_without_pyarrow_the_remedy_is_named(
    tmp_path: Path, key: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collector.cli.export.find_spec", lambda _: None)
    assert export(tmp_path, "--key", key, "--to", tmp_path / "out") == 3
    assert "pip install 'querytap[parquet]'" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path, key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").write_text("a file")
    assert export(tmp_path, "--key", key, "--to", tmp_path / "out") == 2
    assert "--to" in capsys.readouterr().err
