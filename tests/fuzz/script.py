"""Reads a fuzzer's bytes as a script: small numbers, pieces, choices, and damage to what was built from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

_T = TypeVar("_T")
_MARKS: Final = bytes((0xFB, 0xFC, 0xFD, 0xFE, 0xFF, 0x00, 0x01, 0x7F, 0x80))
"""First bytes of length-encoded integers, and the edges of one byte."""
_LENGTHS: Final = (0, 1, 4, 5, 50, 251, 0xFFFF, 0x10000, 0xFFFFFE, 0xFFFFFF)


class Script:
    """Bytes that are read from the front; where they have run out everything is 0 and empty."""

    __slots__ = ("_at", "_data", "_end")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._end = len(data)

    @property
    def over(self) -> bool:
        return self._at >= self._end

    def byte(self) -> int:
        at = self._at
        if at >= self._end:
            return 0
        self._at = at + 1
        return self._data[at]

    def number(self, size: int) -> int:
        """Little-endian, of up to *size* bytes."""
        return int.from_bytes(self.take(size), "little")

    def take(self, size: int) -> bytes:
        """At most *size* bytes."""
        at = self._at
        self._at = at + size
        return self._data[at : at + size]

    def piece(self) -> bytes:
        """A byte of length, and so many bytes; 255 repeats the rest up to some KiB."""
        size = self.byte()
        if size == 0xFF:
            return self.take(8) * (64 + self.byte() * 8)
        return self.take(size)

    def rest(self) -> bytes:
        return self.take(self._end)

    def pick(self, choices: Sequence[_T]) -> _T:
        return choices[self.byte() % len(choices)]


def damaged(script: Script, data: bytes) -> bytes:
    """*data* with its first length, its sequence id, a length inside or some bytes changed, cut, doubled or put in."""
    kind = script.byte() % 8
    at = script.byte() * (1 + len(data) // 256) % (len(data) + 1)
    if kind == 0:
        return data[:at] + bytes((script.byte(),)) + data[at + 1 :]
    if kind == 1:
        return data[:at]
    if kind == 2:
        return data[:at] + data[at + script.byte() :]
    if kind == 3:
        return data[:at] + data[at : at + script.byte()] + data[at:]
    if kind == 4:
        return data[:at] + script.take(script.byte() % 16) + data[at:]
    if kind == 5:
        return script.pick(_LENGTHS).to_bytes(3, "little") + data[3:]
    if kind == 6:
        return data[:3] + bytes((script.byte(),)) + data[4:]
    return data[:at] + bytes((script.pick(_MARKS),)) + data[at + 1 :]
