"""Gives rights up: of most processes all, of capture those it does not need. Linux calls that Python lacks.

Nothing here can give a right back, and every step that fails raises: a process that kept a right it should have lost
must not go on.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

# linux/capability.h
CAP_DAC_READ_SEARCH: Final = 2
CAP_KILL: Final = 5
CAP_SETGID: Final = 6
CAP_SETUID: Final = 7
CAP_SETPCAP: Final = 8
CAP_NET_RAW: Final = 13
CAP_SYS_PTRACE: Final = 19
CAP_SYS_ADMIN: Final = 21

# linux/prctl.h
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_CAPBSET_READ: Final = 23
_PR_CAPBSET_DROP: Final = 24
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_CAP_AMBIENT: Final = 47
_PR_CAP_AMBIENT_CLEAR_ALL: Final = 4

_CAPABILITY_VERSION_3: Final = 0x20080522
_MOST_CAPABILITIES: Final = 64

_libc: Final = ctypes.CDLL(None, use_errno=True)
_libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom a process is to run as."""

    uid: int
    gid: int
    name: str


def has_capability(number: int) -> bool:
    """Whether this process may use a capability now."""
    data = (_Data * 2)()
    _check("capget", _libc.capget(ctypes.byref(_Header(_CAPABILITY_VERSION_3, 0)), data))
    return bool(data[number // 32].effective >> number % 32 & 1)


def keep_only(*capabilities: int) -> None:
    """Lose every capability but these, of them those that are there, and the way to gain others by exec."""
    kept = [number for number in capabilities if has_capability(number)]
    _limit_bounding_set(kept)
    _set_capabilities(kept)
    _no_new_privileges()


def hold(*held: int, passed_on: Sequence[int]) -> None:
    """Lose every capability but *held*; a program that is exec'd can have *passed_on* too.

    Root's programs get that from the bounding set, so that root need not have it in the meantime; those of anyone else
    get only what this process has.
    """
    _limit_bounding_set([*held, *passed_on])
    kept = [*held] if os.geteuid() == 0 else [*held, *passed_on]
    _set_capabilities([number for number in kept if has_capability(number)], inheritable=passed_on)


def become(user: Identity) -> None:
    """Turn this process for good into *user* with no capability and no way to gain one.

    A process that is *user* already keeps its uid and groups and loses the rest. It is closed to debuggers until it
    calls exec, after which it has to call close_to_debuggers() itself.
    """
    _limit_bounding_set([])
    if user.uid != os.geteuid():
        os.setgroups([])
        os.setresgid(user.gid, user.gid, user.gid)
        os.setresuid(user.uid, user.uid, user.uid)
    _set_capabilities([])
    _no_new_privileges()
    close_to_debuggers()


def close_to_debuggers() -> None:
    """Keep other processes of the same user away from this one's memory and files; exec opens them again."""
    _prctl("PR_SET_DUMPABLE", _PR_SET_DUMPABLE, 0)


def end_with_parent(signal_number: int, parent: int) -> None:
    """Have the kernel send a signal when the process *parent* ends; call it after the last change of user."""
    _prctl("PR_SET_PDEATHSIG", _PR_SET_PDEATHSIG, signal_number)
    if os.getppid() != parent:  # it ended before the request was there
        os.kill(os.getpid(), signal_number)


def _no_new_privileges() -> None:
    _prctl("PR_CAP_AMBIENT", _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    _prctl("PR_SET_NO_NEW_PRIVS", _PR_SET_NO_NEW_PRIVS, 1)


def _limit_bounding_set(kept: Sequence[int]) -> None:
    if not has_capability(CAP_SETPCAP):
        return  # no_new_privs stops exec from giving what the bounding set would have limited
    for number in range(_MOST_CAPABILITIES):
        if number in kept:
            continue
        if _libc.prctl(_PR_CAPBSET_READ, number, 0, 0, 0) < 0:
            return  # past the last one this kernel knows
        _prctl("PR_CAPBSET_DROP", _PR_CAPBSET_DROP, number)


def _set_capabilities(kept: Sequence[int], inheritable: Sequence[int] = ()) -> None:
    data = (_Data * 2)()
    for number in kept:
        data[number // 32].effective |= 1 << number % 32
        data[number // 32].permitted |= 1 << number % 32
        if number in inheritable:
            data[number // 32].inheritable |= 1 << number % 32
    _check("capset", _libc.capset(ctypes.byref(_Header(_CAPABILITY_VERSION_3, 0)), data))


def _prctl(name: str, option: int, argument: int) -> None:
    _check(name, _libc.prctl(option, argument, 0, 0, 0))


def _check(name: str, result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
