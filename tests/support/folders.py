"""Folders that processes of several users can reach, which pytest's own ones are not when root runs the tests."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def reachable_folder() -> Iterator[Path]:
    """A new folder that anyone can enter, with a path short enough for a Unix socket; it goes at the end."""
    folder = Path(tempfile.mkdtemp(prefix="querytap-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
