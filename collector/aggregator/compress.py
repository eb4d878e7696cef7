"""Gathers blocks until compressing them together pays, then makes one zstd frame of them. No I/O, no clock."""

from __future__ import annotations

from typing import Final

import zstandard

from collector.archive.packing import ARRAY_OF_2, bin_header

GATHER_BYTES: Final = 1 << 20


class Compressor:
    """Turns blocks into zstd frames of about GATHER_BYTES of content each, in the order they came.

    The content of a frame is a msgpack stream of [head, body] pairs; a block is never split between frames.
    """

    def __init__(self, level: int, gather_bytes: int = GATHER_BYTES) -> None:
        self.set_level(level)
        self._gather_bytes = gather_bytes
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._frames: list[bytes] = []
        self._frame_bytes = 0
        self.content_bytes = 0

    def set_level(self, level: int) -> None:
        """The level of the frames from here on."""
        # The content size must be in the frame: the reader bounds its memory by it. The cipher has the checksum.
        self._zstd = zstandard.ZstdCompressor(level=level, write_content_size=True, write_checksum=False)

    @property
    def size(self) -> int:
        """Bytes held: finished frames, and what waits as it is."""
        return self._frame_bytes + self._pending_bytes

    @property
    def groups(self) -> int:
        """Finished frames held."""
        return len(self._frames)

    def add(self, head: bytes, body: bytes) -> None:
        """Take one block; compresses when enough has gathered."""
        parts = (
            ARRAY_OF_2,
            bin_header(len(head)),
            head,
            bin_header(len(body)),
            body,
        )
        length = sum(map(len, parts))
        if self._pending and self._pending_bytes + length > self._gather_bytes:
            self._flush()
        self._pending += parts
        self._pending_bytes += length
        self.content_bytes += length
        if self._pending_bytes >= self._gather_bytes:
            self._flush()

    def take(self) -> list[bytes]:
        """Every frame so far, with what was waiting as the last; begins anew."""
        self._flush()
        frames = self._frames
        self._frames = []
        self._frame_bytes = 0
        self.content_bytes = 0
        return frames

    def compress(self, content: bytes) -> bytes:
        """One zstd frame of *content*."""
        return self._zstd.compress(content)

    def _flush(self) -> None:
        if self._pending:
            frame = self.compress(b"".join(self._pending))
            self._frames.append(frame)
            self._frame_bytes += len(frame)
            self._pending.clear()
            self._pending_bytes = 0
