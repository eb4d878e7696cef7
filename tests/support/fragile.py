"""A folder on a disk that keeps only what it was told to sync, and a process that ends at any of its calls."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

_CALLS: Final = ("open", "fsync", "link", "replace", "rename", "unlink", "mkdir", "rmdir")


class Crash(BaseException):
    """The process has ended: none of its calls does anything any more."""


class FragileDisk:
    """Below *root*, what POSIX promises and no more: a file's content stays once the file is synced, a name in a folder
    once the folder is. Counts the calls that change something, and crashes at number *crash_at*."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, root: Path, crash_at: int) -> None:
        self.calls = 0
        self._crash_at = crash_at
        self._root = root
        self._stash = root.with_name(f"{root.name}-stash")
        self._stash.mkdir()
        self._real: dict[str, Callable[..., Any]] = {name: getattr(os, name) for name in _CALLS}
        self._undo: list[tuple[Path, Callable[[], None]]] = []
        self._synced: set[int] = set()
        for name in _CALLS:
            monkeypatch.setattr(os, name, self._patched(name, getattr(self, f"_{name}")))

    def power_cut(self) -> None:
        """Forget what was not synced. To be called once the calls are the real ones again."""
        for _, undo in reversed(self._undo):
            undo()
        for path in self._root.rglob("*"):
            if path.is_file() and path.stat().st_ino not in self._synced:
                path.write_bytes(b"")

    def _patched(self, name: str, model: Callable[..., Any]) -> Callable[..., Any]:
        def call(what: int | str | Path, *more: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever they take
            reads = name == "open" and not more[0] & os.O_CREAT
            if reads or (not isinstance(what, int) and not Path(what).is_relative_to(self._root)):
                return self._real[name](what, *more, **named)
            if self.calls >= self._crash_at:
                raise Crash
            self.calls += 1
            return model(what if isinstance(what, int) else Path(what), *more, **named)

        return call

    def _changed(self, folder: Path, undo: Callable[[], None]) -> None:
        self._undo.append((folder, undo))

    def _kept(self, path: Path) -> Path | None:
        """The file as it is, under another name."""
        if not path.exists():
            return None
        kept = self._stash / str(len(list(self._stash.iterdir())))
        self._real["link"](path, kept)
        return kept

    def _open(self, path: Path, *more: int) -> int:
        fd: int = self._real["open"](path, *more)
        self._changed(path.parent, lambda: path.unlink(missing_ok=True))
        return fd

    def _fsync(self, fd: int) -> None:
        status = os.fstat(fd)
        if stat.S_ISDIR(status.st_mode):
            folder = Path(f"/proc/self/fd/{fd}").readlink()
            self._undo = [entry for entry in self._undo if entry[0] != folder]
        else:
            self._synced.add(status.st_ino)

    def _link(self, path: Path, to: Path) -> None:
        self._real["link"](path, to)
        self._changed(to.parent, lambda: to.unlink(missing_ok=True))

    def _replace(self, path: Path, to: Path) -> None:
        old = self._kept(to)
        self._real["replace"](path, to)

        def undo() -> None:
            to.rename(path)
            if old is not None:
                to.hardlink_to(old)

        self._changed(to.parent, undo)

    _rename = _replace

    def _unlink(self, path: Path) -> None:
        old = self._kept(path)
        self._real["unlink"](path)
        if old is not None:
            self._changed(path.parent, lambda: path.hardlink_to(old))

    def _mkdir(self, path: Path, mode: int) -> None:
        self._real["mkdir"](path, mode)
        self._changed(path.parent, lambda: shutil.rmtree(path))

    def _rmdir(self, path: Path) -> None:
        self._real["rmdir"](path)
        self._changed(path.parent, path.mkdir)
