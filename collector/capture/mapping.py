"""Memory shared with forked workers, a packet socket's ring or our own, by its address: no object closes it.

A forked worker can thus keep a mapping, and drop the fd, with nothing closing anything behind its back. Not mmap.mmap:
that keeps a duplicate of the fd for as long as the mapping lives.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
from typing import Final

# asm-generic/mman-common.h
_PROT_READ_WRITE: Final = 3
_MAP_SHARED: Final = 1
_MAP_FIXED: Final = 0x10
_MAP_ANONYMOUS: Final = 0x20
_MADV_DONTFORK: Final = 10
MADV_DOFORK: Final = 11

libc: Final = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_MAP_FAILED: Final = ctypes.c_void_p(-1).value


def shared(size: int, fd: int = -1) -> int:
    """The address of *size* bytes of *fd*'s memory (-1: of new memory, all zero), which no fork inherits yet."""
    flags = _MAP_SHARED | (_MAP_ANONYMOUS if fd < 0 else 0)
    address: int = libc.mmap(None, size, _PROT_READ_WRITE, flags, fd, 0)
    if address == _MAP_FAILED:
        raise _error("mmap of memory for a worker")
    inheritable(address, size, whether=False)
    return address


def inheritable(address: int, size: int, *, whether: bool, fd: int = -1) -> None:
    """Let the next fork have the memory, or not; *fd*: whose it is, where it is a packet socket's. Raises OSError."""
    if libc.madvise(address, size, MADV_DOFORK if whether else _MADV_DONTFORK) == 0:
        return
    if not whether or fd < 0 or ctypes.get_errno() != errno.EINVAL:
        raise _error("madvise")
    # Linux 7.2 takes back of no ring that forks are not to have it. What is mapped anew in its place is for all.
    if libc.mmap(address, size, _PROT_READ_WRITE, _MAP_SHARED | _MAP_FIXED, fd, 0) != address:
        raise _error("mmap of a ring in its own place")


class Area:
    """Memory of one worker after the other, all zero at first; by its fd, another capture process can have it too."""

    def __init__(self, size: int, name: str, fd: int = -1) -> None:
        """*size* 0: there is none. *fd*: of memory that another capture process left. Raises OSError."""
        self.size = size
        self.fd = fd
        self.address = 0
        if fd >= 0:
            self.size = os.fstat(fd).st_size
            self.address = shared(self.size, fd)
        elif size:
            self.fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            os.ftruncate(self.fd, size)
            fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            self.address = shared(size, self.fd)

    def clear(self) -> None:
        """Make it all zero."""
        ctypes.memset(self.address, 0, self.size)

    def inheritable(self, whether: bool) -> None:
        """Let the next fork have the memory, or not."""
        if self.size:
            inheritable(self.address, self.size, whether=whether)


def release(address: int, size: int) -> None:
    """Give the memory back."""
    _check("munmap", libc.munmap(address, size))


def _check(name: str, result: int) -> None:
    if result != 0:
        raise _error(name)


def _error(name: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{name}: {os.strerror(number)}")
