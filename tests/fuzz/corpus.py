"""The inputs a target begins with: the smallest that reach each of its lines, made from its seeds."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any, Final

Run = Callable[[bytes], object]
Arc = tuple[str, int, int]
FOLDER: Final = Path(__file__).parent / "corpus"
TARGETS: Final = tuple(sorted(path.stem.removeprefix("target_") for path in Path(__file__).parent.glob("target_*.py")))


def target(name: str) -> Run:
    """What runs one input of that target."""
    run: Run = importlib.import_module(f"tests.fuzz.target_{name}").run
    return run


def seeds(name: str) -> list[bytes]:
    """Those written by hand in the target's module."""
    return list(importlib.import_module(f"tests.fuzz.target_{name}").SEEDS.values())


def load(name: str) -> list[bytes]:
    """The corpus in this folder."""
    return [path.read_bytes() for path in sorted((FOLDER / name).glob("*"))]


def save(name: str, inputs: Iterable[bytes]) -> int:
    """Make these the corpus; how many they are."""
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*"):
        path.unlink()
    written = 0
    for data in inputs:
        (folder / hashlib.sha256(data).hexdigest()[:12]).write_bytes(data)
        written += 1
    return written


def distilled(run: Run, inputs: Iterable[bytes]) -> list[bytes]:
    """The shortest of the inputs that go from line to line in the product as all of them do. Wants the sources."""
    seen: set[Arc] = set()
    kept = []
    for data in sorted(set(inputs), key=lambda one: (len(one), one)):
        found = _arcs(run, data)
        if not found <= seen:
            seen |= found
            kept.append(data)
    return kept


def _arcs(run: Run, data: bytes) -> set[Arc]:
    found: set[Arc] = set()
    last: dict[FrameType, int] = {}

    def line(frame: FrameType, event: str, _: Any) -> Any:  # noqa: ANN401  # as sys.settrace gives and takes it
        if event == "line":
            found.add((frame.f_code.co_filename, last.get(frame, 0), frame.f_lineno))
            last[frame] = frame.f_lineno
        return line

    def call(frame: FrameType, _: str, __: Any) -> Any:  # noqa: ANN401  # as line()
        file = frame.f_code.co_filename
        ours = ("/workers/" in file or "/collector/" in file) and "/tests/" not in file
        return line if ours else None

    sys.settrace(call)
    try:
        run(data)
    finally:
        sys.settrace(None)
    return found
