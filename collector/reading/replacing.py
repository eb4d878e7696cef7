"""Puts another beginning before the rest of an object in a local folder, durably and at once."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path
from typing import BinaryIO

from collector.archive.names import TEMPORARY


def replace_start(path: Path, start: bytes, rest: BinaryIO) -> None:
    """Put *start* and the *rest* of an object in its place, durably and at once; raises OSError.

    Owner, mode and times stay: a local store removes what was written first.
    """
    status = path.stat()
    aside = path.with_name(f"{TEMPORARY}{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(start)
            shutil.copyfileobj(rest, file)
            file.flush()
            os.fchown(descriptor, status.st_uid, status.st_gid)
            os.fchmod(descriptor, status.st_mode & 0o777)
            os.utime(descriptor, ns=(status.st_atime_ns, status.st_mtime_ns))
            os.fsync(descriptor)
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
