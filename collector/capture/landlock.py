"""Has the kernel refuse a process all files, TCP ports and other processes' signals (Landlock, linux/landlock.h).

A second wall beside seccomp: it asks what a call is about to reach, whatever the call. Nothing is excepted here.
"""

from __future__ import annotations

import ctypes
import os
from typing import Final, NamedTuple

_CREATE_RULESET: Final = 444  # the same numbers on every processor
_RESTRICT_SELF: Final = 446
_VERSION: Final = 1  # LANDLOCK_CREATE_RULESET_VERSION

_libc: Final = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class _Attributes(ctypes.Structure):
    """struct landlock_ruleset_attr; a kernel that knows less of it takes it where the rest is 0."""

    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class Handled(NamedTuple):
    """What a ruleset takes away, as bits."""

    files: int
    """LANDLOCK_ACCESS_FS_*: to execute, read, write, list, make, remove, move, cut, or control a device."""
    network: int
    """LANDLOCK_ACCESS_NET_*: to bind a TCP port, to connect to one."""
    scoped: int
    """LANDLOCK_SCOPE_*: abstract Unix sockets of others, signals to others."""


def version() -> int:
    """The kernel's version of the interface; 0: it has none, or it is switched off."""
    found: int = _libc.syscall(ctypes.c_long(_CREATE_RULESET), None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    return max(found, 0)


def handled(known: int) -> Handled:
    """All that a kernel with this version of the interface can take away."""
    # 13 rights in the first, moving to another folder in the second, cutting in the third, devices in the fifth
    rights = 13 + (known >= 2) + (known >= 3) + (known >= 5) if known > 0 else 0
    return Handled(files=(1 << rights) - 1, network=3 if known >= 4 else 0, scoped=3 if known >= 6 else 0)


def restrict(known: int) -> None:
    """Take all that away from this thread and those it starts, for good; what is open stays. It needs no_new_privs.

    Raises OSError.
    """
    attributes = _Attributes(*handled(known))
    ruleset = _libc.syscall(
        ctypes.c_long(_CREATE_RULESET),
        ctypes.byref(attributes),
        ctypes.c_size_t(ctypes.sizeof(attributes)),
        ctypes.c_uint32(0),
    )
    if ruleset < 0:
        raise _error("landlock_create_ruleset")
    try:
        if _libc.syscall(ctypes.c_long(_RESTRICT_SELF), ctypes.c_int(ruleset), ctypes.c_uint32(0)) < 0:
            raise _error("landlock_restrict_self")
    finally:
        os.close(ruleset)


def _error(name: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{name}: {os.strerror(number)}")
