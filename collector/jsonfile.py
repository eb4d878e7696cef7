"""Small JSON files between processes of several users: written into a folder of the writer's own, read with care."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

MOST_BYTES: Final = 8 << 20


def replace(folder: int, name: str, content: Mapping[str, Any]) -> None:
    """Write *content* as the file *name* of an open *folder*; readers see the old one or the new one. Raises OSError.

    No link that somebody else has put there is followed or written to.
    """
    aside = f".{name}.{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(aside, flags, 0o600, dir_fd=folder)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.write("\n")
            os.fchmod(fd, 0o644)  # whatever the umask is
        os.replace(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside, dir_fd=folder)
        raise


def read(path: Path) -> dict[str, Any] | None:
    """The object in a file that a process of another user may have made; None when there is no file.

    Does not wait and follows no link at its end. Raises OSError, and ValueError when it holds something else.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError(f"{path} is not a file")
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"{path} is larger than {MOST_BYTES} bytes")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError(f"{path} holds no JSON") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path} holds no JSON object")  # noqa: TRY004  # what is wrong is the content
    return found
