from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from collector.cli.main import main
from tests.unit.collector.aggregator.making import SECOND, header
from tests.unit.collector.reading.making import write_object

SEALED_NS = header().sealed_ns
WORKERS = {"workers": {"0": {"statements": {"decoded": 60}}}}


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("time.time_ns", lambda: SEALED_NS + 90 * SECOND)
    write_object(tmp_path, sequence=1, ledger={"workers": {"0": {"statements": {"decoded": 0}}}})
    write_object(tmp_path, sequence=2, ledger=WORKERS, sealed_ns=SEALED_NS + 60 * SECOND)
    return tmp_path


def hosts(*words: object) -> int:
    return main(["hosts", *map(str, words)])


def test_a_line_says_how_an_instance_is(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hosts(archive) == 0
    assert capsys.readouterr().out.splitlines() == [
        "host  instance                          state        last  statements/s  why",
        f"db1   {header().instance}  ok        30s ago           1.0",
    ]


def test_who_is_silent_makes_the_exit_status_1(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hosts(archive, "--silent-after", "20s", "--format", "json") == 1
    record: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (record["host"], record["state"], record["age_s"], record["statements"]) == ("db1", "silent", 30, 60)


def test_an_instance_that_is_named_and_not_there_is_said(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hosts(archive, "--instance", "0" * 32) == 1
    assert "has no object here" in capsys.readouterr().err


def test_wrong_usage_and_archives_that_are_not_there_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hosts(tmp_path, "--silent-after", "soon") == 2
    assert "--silent-after: 'soon' is no duration" in capsys.readouterr().err
    assert hosts(tmp_path / "nowhere") == 1
    assert "no such archive" in capsys.readouterr().err
