"""Memory that forks have, or have not, also where the kernel takes back of no ring that they have it not."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

import pytest

from collector.capture import mapping

SIZE = 1 << 16


def in_a_fork(address: int) -> bool:
    """Whether a fork has the memory."""
    child = os.fork()
    if not child:
        found = any(line.startswith(f"{address:x}-") for line in Path("/proc/self/maps").read_text().splitlines())
        os._exit(0 if found else 1)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("refuses", [False, True])
def test_a_fork_has_the_memory_when_it_is_told_to_and_only_then(monkeypatch: pytest.MonkeyPatch, refuses: bool) -> None:
    fd = os.memfd_create("ring")
    os.ftruncate(fd, SIZE)
    address = mapping.shared(SIZE, fd)
    ctypes.memset(address, 7, SIZE)
    madvise = mapping.libc.madvise

    def refusing(at: int, size: int, advice: int) -> int:
        if advice != mapping.MADV_DOFORK:
            return int(madvise(at, size, advice))
        ctypes.set_errno(errno.EINVAL)
        return -1

    if refuses:
        monkeypatch.setattr(mapping.libc, "madvise", refusing)  # as Linux 7.2 does for the rings of packet sockets
    assert not in_a_fork(address)
    mapping.inheritable(address, SIZE, whether=True, fd=fd)
    assert in_a_fork(address)
    mapping.inheritable(address, SIZE, whether=False, fd=fd)
    assert not in_a_fork(address)
    assert ctypes.string_at(address, SIZE) == bytes([7]) * SIZE
    mapping.release(address, SIZE)
    os.close(fd)


def test_of_other_memory_a_refusal_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    address = mapping.shared(SIZE)
    monkeypatch.setattr(mapping.libc, "madvise", lambda *_: -1)
    with pytest.raises(OSError, match="madvise"):
        mapping.inheritable(address, SIZE, whether=True)
    mapping.release(address, SIZE)
