"""What a reading command says on stderr: what is wrong, one line each, and on a terminal how far it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any, Final, Self

from collector.reading.lines import printable
from collector.reading.pool import Work
from collector.reading.scan import Visit
from collector.reading.signers import Signers

_EVERY_S: Final = 0.2
_AFTER_S: Final = 1.0
"""What is done sooner shows nothing."""
_ERASE: Final = "\r\x1b[K"
_MIB: Final = 1 << 20


class Reporter:
    """Says and counts what is wrong; the exit status comes of it."""

    def __init__(self) -> None:
        self.count = 0
        self._signers = Signers()
        self._progress: Progress | None = None

    def __call__(self, problem: str) -> None:
        """Say what is wrong."""
        self.count += 1
        self.note(problem)

    def note(self, text: str) -> None:
        """Say what is not wrong, but to be known."""
        self.clear()
        sys.stdout.flush()
        print(f"querytap: {printable(text)}", file=sys.stderr)

    def saw(self, seen: Visit[Any]) -> None:
        """Say what is wrong with an object that was read, and if another signed it than others of its host."""
        for problem in seen.problems:
            self(problem)
        if seen.origin is not None and (note := self._signers.note(*seen.origin)):
            self.note(note)

    def clear(self) -> None:
        """Take away what says how far it is, before something else is printed on the terminal."""
        if self._progress is not None:
            self._progress.clear()

    def progress(self, entries: Sequence[Work]) -> Progress:
        """How far the work on *entries* is; shown while that is a context, on a terminal alone."""
        self._progress = Progress(sum(entry.size for entry in entries), len(entries), shown=sys.stderr.isatty())
        return self._progress


class Progress:
    """One line that is written over."""

    def __init__(self, all_bytes: int, objects: int, *, shown: bool) -> None:
        self._all_bytes = all_bytes
        self._all_objects = objects
        self._shown = shown
        self._bytes = 0
        self._objects = 0
        self._began = time.monotonic()
        self._next = self._began + _AFTER_S
        self._visible = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def done(self, entry: Work) -> None:
        """One object is through."""
        self._bytes += entry.size
        self._objects += 1
        now = time.monotonic()
        if self._shown and now >= self._next:
            self._next = now + _EVERY_S
            self._visible = True
            sys.stdout.flush()
            print(f"{_ERASE}{self.text(now - self._began)}", end="", file=sys.stderr, flush=True)

    def text(self, taken_s: float) -> str:
        """The line after *taken_s* seconds."""
        part = self._bytes / self._all_bytes if self._all_bytes else self._objects / max(1, self._all_objects)
        left = f", {taken_s / part - taken_s:.0f} s left" if part else ""
        return (
            f"{part:4.0%}  {self._objects} of {self._all_objects} objects,"
            f" {self._bytes / _MIB / max(taken_s, 0.001):.1f} MiB/s{left}"
        )

    def clear(self) -> None:
        """Take the line away."""
        if self._visible:
            self._visible = False
            print(_ERASE, end="", file=sys.stderr, flush=True)
