"""A small disk of a test's own, which is full, read-only, or well again."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Final, Self

import pytest

from tests.support import processes

_BALLAST: Final = "ballast"
_TIMEOUT_S: Final = 30


class Disk:
    """A tmpfs of *mib* mounted on *folder*, with what was in there. Skips the test where nothing can be mounted."""

    def __init__(self, folder: Path, mib: int) -> None:
        self._folder = folder
        self._mib = mib

    def __enter__(self) -> Self:
        aside = self._folder.with_name(f"{self._folder.name}-before")
        shutil.copytree(self._folder, aside)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={self._mib}m,mode=755", "querytap-test", str(self._folder)]
        done = subprocess.run(mount, capture_output=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"no file system can be mounted here: {done.stderr.decode(errors='replace')}")
        shutil.copytree(aside, self._folder, dirs_exist_ok=True)
        return self

    def __exit__(self, *error: object) -> None:
        processes.run(["umount", "--lazy", str(self._folder)])

    def fill(self, but_kib: int = 0) -> None:
        """Take all room *but_kib*."""
        step = b"\1" * 4096
        with (self._folder / _BALLAST).open("wb", buffering=0) as file:
            while self._free_kib() > but_kib:
                try:
                    file.write(step)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    return

    def empty(self) -> None:
        """Give the room back."""
        (self._folder / _BALLAST).unlink()

    def _free_kib(self) -> int:
        system = os.statvfs(self._folder)
        return system.f_bavail * system.f_frsize // 1024

    def remount(self, how: str) -> None:
        """As "ro" or "rw". The system refuses while a file is being written."""
        deadline = time.monotonic() + _TIMEOUT_S
        while True:
            try:
                processes.run(["mount", "-o", f"remount,{how}", str(self._folder)])
            except AssertionError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                return
