"""Memory in which one process leaves to the next what it wrote last, whenever it was killed.

A head, and two halves of which one holds: frames one behind the other, each with its length and its CRC-32. How far
they reach is one word, written last, so that a frame which was not finished was never there. A half that is full makes
way to the other, into which what still holds is written as one frame before the word says so.

Who writes reads what strangers send: to whoever reads, all of it is hostile.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Final

_MAGIC: Final = int.from_bytes(b"QTCHKPT1", "little")
_HEAD_BYTES: Final = 64
_MAGIC_WORD: Final = 0
_REACH_WORD: Final = 1
"""How many bytes of the half hold, and in the highest bit which half it is."""
_TIME_WORD: Final = 2
_SECOND_HALF: Final = 1 << 63
_FRAME: Final = struct.Struct("<II")  # bytes, CRC-32

LEAST_BYTES: Final = 1 << 16


class AreaError(ValueError):
    """What is in the memory was not written there, or not left as it was written."""


class Area:
    """Promises, each pinned by a test: whenever the writer ends, what append() or replace() took is there, or all that
    was there before; read() raises nothing but AreaError, whatever the memory holds.
    """

    def __init__(self, memory: memoryview) -> None:
        """*memory*: at least LEAST_BYTES; all zero where nobody has written yet."""
        self._bytes = memory
        self._words = memory[:_HEAD_BYTES].cast("Q")
        self.half_bytes = (len(memory) - _HEAD_BYTES) // 2
        self._half = 0
        self._reach = 0

    @property
    def time_ns(self) -> int:
        """When something was last heard, as the writer said."""
        return self._words[_TIME_WORD]

    @time_ns.setter
    def time_ns(self, now_ns: int) -> None:
        self._words[_TIME_WORD] = max(now_ns, 0)

    def read(self) -> list[bytes]:
        """The frames since the last replace(). Raises AreaError, after which the area can be written all the same."""
        magic, word = self._words[_MAGIC_WORD], self._words[_REACH_WORD]
        if magic == 0 and word == 0:
            return []
        half, reach = int(word >= _SECOND_HALF), word & (_SECOND_HALF - 1)
        if magic != _MAGIC or reach > self.half_bytes:
            raise AreaError("its head is damaged")
        self._half, self._reach = half, reach
        begin = _HEAD_BYTES + half * self.half_bytes
        return list(_frames(bytes(self._bytes[begin : begin + reach])))

    def append(self, frame: bytes) -> bool:
        """Put *frame* behind the others; False where there is no room for it."""
        reach = self._reach + _FRAME.size + len(frame)
        if reach > self.half_bytes:
            return False
        self._write(frame)
        self._reach = reach
        self._publish()
        return True

    def replace(self, frame: bytes) -> None:
        """Let *frame*, which must have room in a half, be all there is."""
        self._half = 1 - self._half
        self._reach = 0
        self._write(frame)
        self._reach = _FRAME.size + len(frame)
        self._publish()

    def _write(self, frame: bytes) -> None:
        begin = _HEAD_BYTES + self._half * self.half_bytes + self._reach
        end = begin + _FRAME.size
        _FRAME.pack_into(self._bytes, begin, len(frame), zlib.crc32(frame))
        self._bytes[end : end + len(frame)] = frame

    def _publish(self) -> None:
        self._words[_MAGIC_WORD] = _MAGIC
        self._words[_REACH_WORD] = self._reach | (_SECOND_HALF if self._half else 0)


def _frames(written: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(written):
        if at + _FRAME.size > len(written):
            raise AreaError("a frame is cut short")
        size, checksum = _FRAME.unpack_from(written, at)
        at += _FRAME.size
        frame = written[at : at + size]
        if len(frame) != size or zlib.crc32(frame) != checksum:
            raise AreaError("a frame is damaged")
        yield frame
        at += size
