from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector import jsonfile


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


def test_what_is_written_is_read_and_replaced_whole(tmp_path: Path, folder: int) -> None:
    for content in ({"a": 1}, {"b": [2]}):
        jsonfile.replace(folder, "x.json", content)
        assert jsonfile.read(tmp_path / "x.json") == content
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]
    assert (tmp_path / "x.json").stat().st_mode & 0o777 == 0o644


def test_a_link_in_its_place_or_beside_it_is_replaced_and_not_written_to(tmp_path: Path, folder: int) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in ("x.json", "x.tmp", "x.json.tmp", ".x.json.tmp"):
        (tmp_path / name).symlink_to(victim)
    jsonfile.replace(folder, "x.json", {"a": 1})
    assert victim.read_text() == "precious"
    assert not (tmp_path / "x.json").is_symlink()
    assert jsonfile.read(tmp_path / "x.json") == {"a": 1}


def test_what_cannot_be_written_leaves_what_was_there_and_nothing_beside_it(tmp_path: Path, folder: int) -> None:
    jsonfile.replace(folder, "x.json", {"a": 1})
    with pytest.raises(TypeError):
        jsonfile.replace(folder, "x.json", {"a": object()})
    assert jsonfile.read(tmp_path / "x.json") == {"a": 1}
    assert len(list(tmp_path.iterdir())) == 1


def test_a_file_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert jsonfile.read(tmp_path / "x.json") is None


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b"[" * 200_000, b" " * (jsonfile.MOST_BYTES + 1)])
def test_a_file_with_something_else_is_an_error_with_its_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"x\.json"):
        jsonfile.read(tmp_path / "x.json")


def test_neither_a_link_is_followed_nor_a_pipe_waited_for(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("{}")
    (tmp_path / "link").symlink_to(tmp_path / "there")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="link"):
        jsonfile.read(tmp_path / "link")
    with pytest.raises(ValueError, match="pipe"):
        jsonfile.read(tmp_path / "pipe")
