"""Has the kernel refuse a process all system calls but some (seccomp(2)), by a filter of our own assembler.

A refused call fails with EPERM: it ends nobody, as a library may try what it can do without, and the kernel's log
(audit type 1326) names it. A call newer than the table fails with ENOSYS, upon which libc takes an older one. A call
in the manner of another processor, for which the numbers mean something else, has no honest reason: it is death.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from collector.capture import bpf
from collector.capture.bpf import Assembler, Instruction
from collector.capture.calls import NEWEST, Call, Condition, Itself, Null, OneOf, Without

# linux/seccomp.h
KILL_PROCESS: Final = 0x8000_0000  # before 4.14 the kernel takes it for the end of the thread
REFUSE: Final = 0x0005_0000 | errno.EPERM
UNKNOWN: Final = 0x0005_0000 | errno.ENOSYS
ALLOW: Final = 0x7FFF_0000
_SET_MODE_FILTER: Final = 1
_ALL_THREADS: Final = 1  # SECCOMP_FILTER_FLAG_TSYNC, 3.17
_LOG: Final = 2  # 4.14
# 4.17. Kernels before 5.16 slow a filtered process down lest it reads what is in its memory by speculation: a sealed
# worker shares its memory with nobody it is to be kept from.
_SPEC_ALLOW: Final = 4
_FLAGS: Final = (_ALL_THREADS | _LOG | _SPEC_ALLOW, _ALL_THREADS | _LOG, _ALL_THREADS)

# struct seccomp_data
_NUMBER: Final = 0
_ARCHITECTURE: Final = 4
_ARGUMENTS: Final = 16

# linux/audit.h, by the machine's name (uname(2)), and the call's own number
ARCHITECTURES: Final = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
_NUMBER_OF_CALL: Final = {"x86_64": 317, "aarch64": 277}
_X32: Final = 0x4000_0000  # __X32_SYSCALL_BIT: another set of numbers on the same architecture

_libc: Final = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def machine() -> str | None:
    """The machine's name, as above; None where there is no table of numbers for this program on it."""
    name = platform.machine()
    return name if name in ARCHITECTURES and sys.maxsize > 1 << 32 else None


def flags() -> int | None:
    """The best flags of install() that the kernel takes; None: it has no filters, or none for all threads at once."""
    name = machine()
    if name is None:
        return None
    for found in _FLAGS:
        # With no filter to look at a kernel that knows the flags complains of that.
        if _seccomp(name, found, None) == errno.EFAULT:
            return found
    return None


def build(name: str, calls: Mapping[str, Call], pid: int) -> tuple[Instruction, ...]:
    """The filter that allows these calls to the process *pid* on the machine *name*."""
    assembler = Assembler()
    assembler.load_word(_ARCHITECTURE)
    assembler.jump_equal(ARCHITECTURES[name], no="other architecture")
    assembler.load_word(_NUMBER)
    if name == "x86_64":
        assembler.jump_any_bit(_X32, yes="refused")
    conditions: dict[str, Condition] = {}
    for call, allowed in calls.items():
        number = getattr(allowed, name)
        if number is None:
            continue
        if allowed.only is not None:
            conditions[call] = allowed.only
        assembler.jump_equal(number, yes="allowed" if allowed.only is None else call)
    assembler.jump_greater(NEWEST, yes="unknown", no="refused")
    for call, condition in conditions.items():
        assembler.label(call)
        _test(assembler, condition, pid)
    for label, verdict in (
        ("allowed", ALLOW),
        ("refused", REFUSE),
        ("unknown", UNKNOWN),
        ("other architecture", KILL_PROCESS),
    ):
        assembler.label(label)
        assembler.give(verdict)
    return assembler.program()


def install(program: Sequence[Instruction], chosen: int) -> None:
    """Put all threads of this process, and what they become, under *program* for good; it needs no_new_privs.

    *chosen* is what flags() gave. Raises OSError.
    """
    name = machine()
    assert name is not None, "flags() says so"
    with bpf.in_memory(program) as request:
        problem = _seccomp(name, chosen, request)
    if problem:
        raise OSError(problem, f"seccomp: {os.strerror(problem)}")


def _test(assembler: Assembler, condition: Condition, pid: int) -> None:
    """Both processors are little-endian: the lower half of an argument comes first."""
    at = _ARGUMENTS + 8 * condition.argument
    assembler.load_word(at)
    match condition:
        case OneOf(values=values):
            for value in values:
                assembler.jump_equal(value, yes="allowed")
            assembler.jump("refused")
        case Without(bits=bits):
            assembler.jump_any_bit(bits, yes="refused", no="allowed")
        case Itself():
            assembler.jump_equal(pid, yes="allowed", no="refused")
        case Null():
            assembler.jump_equal(0, no="refused")
            assembler.load_word(at + 4)
            assembler.jump_equal(0, yes="allowed", no="refused")


def _seccomp(name: str, chosen: int, request: bytes | None) -> int:
    """The error number; 0: done. A thread that cannot follow is an error, and its number is what comes back then."""
    result = _libc.syscall(
        ctypes.c_long(_NUMBER_OF_CALL[name]), ctypes.c_uint(_SET_MODE_FILTER), ctypes.c_uint(chosen), request
    )
    if result > 0:
        return errno.EBUSY
    return ctypes.get_errno() if result < 0 else 0
