from __future__ import annotations

import stat
from pathlib import Path

import pytest

from collector.aggregator.durable import create_file, make_folders, replace_file


def test_a_new_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    create_file(tmp_path / "a", b"data")
    assert (tmp_path / "a").read_bytes() == b"data"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_creating_never_overwrites(tmp_path: Path) -> None:
    create_file(tmp_path / "a", b"first")
    with pytest.raises(FileExistsError):
        create_file(tmp_path / "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_replacing_leaves_nothing_beside_the_file(tmp_path: Path) -> None:
    for text in (b"first", b"second"):
        replace_file(tmp_path / "a", text, mode=0o644)
    assert (tmp_path / "a").read_bytes() == b"second"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_replacement_that_fails_leaves_nothing_beside_the_old(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "inside").touch()
    with pytest.raises(OSError, match="a"):
        replace_file(tmp_path / "a", b"text")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_folders_are_made_for_the_owner_alone(tmp_path: Path) -> None:
    make_folders(tmp_path / "root" / "a" / "b", tmp_path / "root")
    assert stat.S_IMODE((tmp_path / "root" / "a" / "b").stat().st_mode) == 0o700
    make_folders(tmp_path / "root" / "a" / "b", tmp_path / "root")
