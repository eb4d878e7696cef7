from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collector.aggregator.durable import clear_asides, create_file, make_folders, replace_file


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


class Disk:
    """Writes down what is asked of the disk, in order; *failing* fails each time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, failing: str = "") -> None:
        self.calls: list[str] = []
        self._failing = failing
        self._folder = folder
        for name in ("link", "replace", "fsync", "mkdir", "unlink"):
            monkeypatch.setattr(os, name, self._recording(name, getattr(os, name)))

    def _recording(self, name: str, real: Callable[..., None]) -> Callable[..., None]:
        def call(*given: Any, **named: Any) -> None:  # noqa: ANN401 - whatever they take
            paths = [self._path(one) for one in given if not isinstance(one, int) or name == "fsync"]
            self.calls.append(" ".join([name, *paths]))
            if self.calls[-1] == self._failing:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            real(*given, **named)

        return call

    def _path(self, what: int | Path) -> str:
        path = Path(f"/proc/self/fd/{what}").readlink() if isinstance(what, int) else what
        found = path.relative_to(self._folder.parent).as_posix()
        return re.sub(r"\.(\w+)\.[0-9a-f]{8}\.aside", r"aside-\1", found)


def test_a_new_file_has_its_name_only_once_its_content_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch, tmp_path / "f")
    make_folders(tmp_path / "f" / "day", tmp_path / "f")
    create_file(tmp_path / "f" / "day" / "a", b"data")
    assert disk.calls == [
        "mkdir f", "fsync .", "mkdir f/day", "fsync f",
        "fsync f/day/aside-a", "link f/day/aside-a f/day/a", "unlink f/day/aside-a", "fsync f/day",
    ]  # fmt: skip


def test_a_replacement_is_on_the_disk_before_the_old_one_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    disk = Disk(monkeypatch, folder)
    replace_file(folder / "a", b"data")
    assert disk.calls == ["fsync f/aside-a", "replace f/aside-a f/a", "fsync f"]


@pytest.mark.parametrize("failing", ["fsync f/aside-a", "link f/aside-a f/a", "fsync f"])
def test_what_the_disk_has_not_taken_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    Disk(monkeypatch, folder, failing)
    with pytest.raises(OSError, match="Input/output"):
        create_file(folder / "a", b"data")
    assert list(folder.iterdir()) == []


def test_folders_that_a_killed_process_has_made_are_made_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f" / "a" / "b").mkdir(parents=True)
    disk = Disk(monkeypatch, tmp_path / "f")
    make_folders(tmp_path / "f" / "a" / "b", tmp_path / "f")
    assert {"fsync f", "fsync f/a"} < set(disk.calls)


def test_what_interrupted_writes_have_left_is_cleared_and_nothing_else(tmp_path: Path) -> None:
    for name in (".a.12345678.aside", ".hidden", "a.aside", "a"):
        (tmp_path / name).touch()
    clear_asides(tmp_path)
    clear_asides(tmp_path / "none")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".hidden", "a", "a.aside"]
