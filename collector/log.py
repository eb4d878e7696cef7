"""Log lines as every process of querytap writes them, and how one passes on those of another. SQL is never among them.

A process has no terminal: its lines go through a pipe to the one that started it, and from there to the supervisor,
which prints them. What comes out of such a pipe is foreign: it may be forged, endless, or meant for a terminal.
"""

from __future__ import annotations

import contextlib
import logging
import re
import sys
import time
from collections.abc import Sequence
from typing import Final

LONGEST_LINE: Final = 2000
"""In characters; what is longer is cut."""
BURST: Final = 200
"""Lines that may come at once from a process whose lines are counted."""
LINES_A_SECOND: Final = 10.0
"""As many more may come after them."""

_OWN: Final = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]{4,8} (?:%s): "


def to_stderr(process: str) -> None:
    """Send this process's log lines to stderr under the name *process*; takes the place of what was set before."""
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO,
        format=f"%(asctime)s %(levelname)s {process}: %(message)s",
        force=True,
    )


def log_time() -> str:
    """The present as log lines have it."""
    now = time.time()
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now)) + f",{int(now % 1 * 1000):03d}"


def print_lines(lines: Sequence[str]) -> None:
    """Print what a Relay made of the lines of another process; that nobody reads them stops nothing."""
    if lines:
        with contextlib.suppress(OSError):
            sys.stderr.write("".join(f"{line}\n" for line in lines))
            sys.stderr.flush()


class Relay:
    """Turns what a process wrote into lines that may be printed. Bytes, a clock and lines: it reads and prints nothing.

    A line under a name that is not the process's own is put under its own; whatever a terminal could take for a command
    is written as its number; of a process that is *bounded*, lines beyond BURST and LINES_A_SECOND are counted only.
    """

    def __init__(self, process: str, *, names: str = "", bounded: bool = True) -> None:
        self._process = process
        self._own = re.compile(_OWN % (names or re.escape(process)))
        self._bounded = bounded
        self._carry = b""
        self._cutting = False
        self._room = float(BURST)
        self._at: float | None = None
        self._left_out = 0

    def feed(self, data: bytes, now: float, stamp: str) -> list[str]:
        """The lines that *data* completes; *now* is in seconds of a monotonic clock, *stamp* the time as in a log line.

        No data ends the last line.
        """
        found: list[str] = []
        self._refill(now)
        if self._left_out and self._room >= 1:
            found.append(self._ours(f"{self._left_out} lines were too many and are left out", stamp))
            self._room -= 1
            self._left_out = 0
        *whole, rest = (self._carry + data).split(b"\n")
        if not data and rest:
            whole, rest = [*whole, rest], b""
        for line in whole:
            if not self._cutting:
                self._take(line, stamp, found)
            self._cutting = False
        if len(rest) > LONGEST_LINE and not self._cutting:
            self._take(rest, stamp, found)
            self._cutting = True
        self._carry = b"" if self._cutting else rest
        return found

    def _refill(self, now: float) -> None:
        if self._at is not None:
            self._room = min(self._room + max(now - self._at, 0.0) * LINES_A_SECOND, BURST)
        self._at = now

    def _take(self, line: bytes, stamp: str, found: list[str]) -> None:
        if not line.strip():
            return
        if self._bounded and self._room < 1:
            self._left_out += 1
            return
        self._room -= 1
        text = printable(line[: LONGEST_LINE * 4].decode("utf-8", "replace"))[:LONGEST_LINE]
        found.append(text if self._own.match(text) else self._ours(text, stamp))

    def _ours(self, text: str, stamp: str) -> str:
        return f"{stamp} ERROR {self._process}: {text}"


def printable(text: str) -> str:
    """*text* with what a terminal could take for a command, or a reader for a new line, written as its number."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else f"\\x{ord(one):02x}" for one in text)
