"""Files that are there whole or not at all, also after a power cut."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import Final

from collector.archive.names import TEMPORARY

_ASIDE: Final = ".aside"


def create_file(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Write a new file durably; FileExistsError when there is one of that name, which stays as it is."""
    aside = _write_aside(path, data, mode)
    try:
        os.link(aside, path)
    finally:
        aside.unlink()
    try:
        sync_folder(path.parent)
    except OSError:
        path.unlink()  # it may be gone after a power cut: so it is not there
        raise


def replace_file(path: Path, data: bytes, *, mode: int = 0o600, durable: bool = True) -> None:
    """Write a file in place of the one of that name, if any; readers see the old or the new one."""
    aside = _write_aside(path, data, mode, durable=durable)
    try:
        aside.replace(path)
    except OSError:
        aside.unlink()
        raise
    if durable:
        sync_folder(path.parent)


def make_folders(path: Path, root: Path) -> None:
    """Make *path* and what is missing between it and *root*, durably, for the owner alone.

    What is there is synced too: who made it may have been killed before that.
    """
    if path != root:
        make_folders(path.parent, root)
    path.mkdir(mode=0o700, parents=path == root, exist_ok=True)
    try:
        sync_folder(path.parent)
    except PermissionError:
        if path != root:  # what that is in is none of ours
            raise


def clear_asides(folder: Path) -> None:
    """Remove what interrupted writes have left in *folder*, as far as that can be done."""
    with contextlib.suppress(OSError):
        for aside in folder.glob(f"{TEMPORARY}*{_ASIDE}"):
            aside.unlink()


def sync_folder(folder: Path) -> None:
    """Make names in *folder* durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_aside(path: Path, data: bytes, mode: int, *, durable: bool = True) -> Path:
    aside = path.with_name(f"{TEMPORARY}{path.name}.{secrets.token_hex(4)}{_ASIDE}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(descriptor, mode)
            if durable:
                os.fsync(descriptor)
    except OSError:
        aside.unlink()
        raise
    return aside
