"""Statements of one object as lines, in order of time: what does not fit memory is set aside, and none of it in clear.

A run is sorted. It is a msgpack stream of [monotonic time, time, line]; one that is large stands in a file, in pieces
under AES-256-GCM with a key that is nowhere but in the memory of the processes of one command.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import msgpack
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MOST_IN_MEMORY_BYTES: Final = 32 << 20
"""Of lines that are sorted together."""
_INLINE_BYTES: Final = 256 << 10
_PIECE_BYTES: Final = 256 << 10
_NONCE_BYTES: Final = 12
_LENGTH_BYTES: Final = 4
_OVERHEAD_BYTES: Final = 150  # what an object in memory takes beside its line


class Line(NamedTuple):
    """A statement as it will be printed."""

    monotonic_ns: int
    """By the clock of its host that nobody sets."""
    time_ns: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Aside:
    """Where runs go that are large."""

    folder: str
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)


@dataclass(frozen=True, slots=True)
class Run:
    """A sorted part of an object's lines: can be sent to another process, and read once."""

    packed: bytes
    path: str = ""

    def lines(self, aside: Aside) -> Iterator[Line]:
        """The lines in order; the file is gone then. Raises OSError."""
        unpacker = msgpack.Unpacker(raw=True, max_buffer_size=0)
        for piece in [self.packed] if not self.path else _pieces(Path(self.path), aside):
            unpacker.feed(piece)
            for monotonic_ns, time_ns, data in unpacker:
                yield Line(monotonic_ns, time_ns, data)


class Sorter:
    """Takes lines in any order, and gives them back in sorted runs; no more than MOST_IN_MEMORY_BYTES are in memory."""

    def __init__(self, aside: Aside) -> None:
        self._aside = aside
        self._lines: list[Line] = []
        self._bytes = 0
        self._runs: list[Run] = []

    def add(self, line: Line) -> None:
        """Take a line. Raises OSError when it cannot set aside what is there."""
        self._lines.append(line)
        self._bytes += len(line.data) + _OVERHEAD_BYTES
        if self._bytes >= MOST_IN_MEMORY_BYTES:
            self._close()

    def runs(self) -> list[Run]:
        """All that was taken."""
        self._close()
        return self._runs

    def _close(self) -> None:
        if not self._lines:
            return
        self._lines.sort(key=lambda line: line.monotonic_ns)  # stable: at the same time, as they were finished
        if self._bytes <= _INLINE_BYTES:
            self._runs.append(Run(b"".join(map(msgpack.packb, self._lines))))
        else:
            self._runs.append(Run(b"", _set_aside(self._lines, self._aside)))
        self._lines = []
        self._bytes = 0


def _set_aside(lines: Iterable[Line], aside: Aside) -> str:
    cipher = AESGCM(aside.key)
    path = Path(aside.folder, secrets.token_hex(8))
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        waiting = bytearray()

        def write() -> None:
            nonce = secrets.token_bytes(_NONCE_BYTES)
            sealed = cipher.encrypt(nonce, bytes(waiting), None)
            file.write(len(sealed).to_bytes(_LENGTH_BYTES, "little") + nonce + sealed)
            waiting.clear()

        for line in lines:
            waiting += msgpack.packb(line)
            if len(waiting) >= _PIECE_BYTES:
                write()
        write()
    return str(path)


def _pieces(path: Path, aside: Aside) -> Iterator[bytes]:
    cipher = AESGCM(aside.key)
    try:
        with path.open("rb") as file:
            while length := file.read(_LENGTH_BYTES):
                nonce = file.read(_NONCE_BYTES)
                yield cipher.decrypt(nonce, file.read(int.from_bytes(length, "little")), None)
    finally:
        path.unlink(missing_ok=True)
