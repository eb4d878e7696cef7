from __future__ import annotations

import contextlib
import errno
import os
import struct
from collections.abc import Iterator

import pytest

from collector.capture import mapping, methods
from collector.capture.sockets import MethodError, Shape


class ShortOfMemory:
    """A socket of a kernel that has no more than *room* blocks for a ring."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.asked: list[int] = []

    def setsockopt(self, _level: int, _option: int, value: int | bytes) -> None:
        if isinstance(value, bytes):
            self.asked.append(struct.unpack_from("=2I", value)[1])
            if self.asked[-1] > self.room:
                raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))


def opened(monkeypatch: pytest.MonkeyPatch, room: int) -> tuple[ShortOfMemory, int]:
    """How a ring of 16 blocks is asked for, and of how many it is."""
    kernel = ShortOfMemory(room)

    @contextlib.contextmanager
    def borrowed(_fd: int) -> Iterator[ShortOfMemory]:
        yield kernel

    monkeypatch.setattr(methods, "create", lambda: os.open("/dev/null", os.O_RDONLY))
    monkeypatch.setattr(methods, "borrowed", borrowed)
    monkeypatch.setattr(mapping, "shared", lambda size, _fd: size)
    ring = methods.BlockRing.open(Shape(ring_mib=16, block_timeout_ms=100))
    os.close(ring.fd)
    assert ring.ring_bytes == ring.address, "as much is mapped as was granted"
    return kernel, ring.block_count


def test_a_kernel_short_of_memory_is_asked_for_fewer_blocks(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    kernel, granted = opened(monkeypatch, room=9)
    assert (kernel.asked, granted) == ([16, 12, 9], 9)
    assert "the kernel granted a ring of 9 MiB, not of 16 (capture.ring_mib)" in caplog.text


def test_a_kernel_without_memory_for_the_least_ring_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MethodError, match="no memory for a ring of 2 blocks"):
        opened(monkeypatch, room=1)
