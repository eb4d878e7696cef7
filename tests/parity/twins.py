"""Finds the two builds and runs each in its own process."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import msgpack

from tests.parity.player import SIZE
from tests.support import builds

PLAYER = Path(__file__).with_name("player.py")


def compiled_folder() -> tuple[Path | None, str]:
    """The folder of a compiled build of the present sources; or None, and why there is none."""
    candidates = [Path(builds.where()).parent, *builds.ROOT.glob(".venv/lib/python3*/site-packages")]
    if named := os.environ.get("QUERYTAP_COMPILED_BUILD"):
        candidates.insert(0, Path(named))
    reason = "no compiled build is at hand: make build"
    for folder in candidates:
        if not _compiled(folder):
            continue
        stale = _stale(folder)
        if not stale:
            return folder, ""
        reason = f"the compiled build in {folder} is older than {', '.join(stale[:3])}: make build"
    return None, reason


def _compiled(folder: Path) -> bool:
    """Whether the folder has every listed module compiled, for this interpreter."""
    bases = [folder / name.replace(".", "/") for name in builds.listed_modules()]
    return all(any(Path(f"{base}{suffix}").exists() for suffix in EXTENSION_SUFFIXES) for base in bases)


def _stale(folder: Path) -> list[str]:
    """The sources that differ from those the build was made of."""
    sources = [path.relative_to(builds.ROOT) for path in sorted((builds.ROOT / "workers").rglob("*.p[yx]*"))]
    return [
        str(path)
        for path in sources
        if path.suffix in {".py", ".pxd"}
        and (not (folder / path).exists() or (folder / path).read_bytes() != (builds.ROOT / path).read_bytes())
    ]


class Twin:
    """A process that runs one build; use it as a context manager. Asking blocks until the answer is there."""

    def __init__(self, build: str, folder: Path) -> None:
        environment = {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1", "PATH": os.environ.get("PATH", "")}
        self._process = subprocess.Popen(
            [sys.executable, str(PLAYER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        said = self._read()
        if said != build:
            self._process.kill()
            raise RuntimeError(f"the player in {folder} runs the {said} build, not the {build} one")

    def ask(self, name: str, *arguments: object) -> Any:  # noqa: ANN401  # what the player returns
        """What the build makes of it."""
        assert self._process.stdin is not None
        packed = msgpack.packb([name, list(arguments)])
        self._process.stdin.write(SIZE.pack(len(packed)) + packed)
        self._process.stdin.flush()
        return self._read()

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _read(self) -> Any:  # noqa: ANN401  # as above
        assert self._process.stdout is not None
        header = self._process.stdout.read(SIZE.size)
        if len(header) < SIZE.size:
            raise RuntimeError(f"the player ended with {self._process.wait()}")
        return msgpack.unpackb(self._process.stdout.read(*SIZE.unpack(header)), strict_map_key=False)
