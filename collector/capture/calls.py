"""What a sealed worker may ask of the kernel: its system calls, and of some of them which arguments. Numbers only.

A worker reads memory it has mapped, whatever the way packets leave the kernel: in none of them does it hold a packet
socket. A call that could name a file, an address or another process is not here, and a descriptor comes from accept4
alone. Numbers are those of asm/unistd_64.h and asm-generic/unistd.h; None: the processor's kernel has no such call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

NEWEST: Final = 450
"""The newest call that was looked at (Linux 6.1); from 424 on a call has the same number everywhere."""

# asm-generic/fcntl.h, asm-generic/mman-common.h, linux/prctl.h, linux/sched.h
_F_GETFD, _F_SETFD, _F_GETFL, _F_SETFL = 1, 2, 3, 4
_PROT_EXEC: Final = 4
_PR_SET_NAME: Final = 15
_SCHED_OTHER: Final = 0


@dataclass(frozen=True, slots=True)
class OneOf:
    """An argument of 32 bits that must be one of these."""

    argument: int
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Without:
    """An argument of 32 bits that must have none of these."""

    argument: int
    bits: int


@dataclass(frozen=True, slots=True)
class Null:
    """A pointer that must be one to nothing."""

    argument: int


@dataclass(frozen=True, slots=True)
class Itself:
    """A process id that must be the caller's own."""

    argument: int


Condition = OneOf | Without | Null | Itself


@dataclass(frozen=True, slots=True)
class Call:
    """A system call that is allowed, where its condition holds."""

    x86_64: int | None
    aarch64: int | None
    only: Condition | None = None


WORKER: Final[Mapping[str, Call]] = {
    # What wakes it, and ZeroMQ: its threads, the socket it listened on before, and what was accepted there.
    "poll": Call(7, None),
    "ppoll": Call(271, 73),
    "getpid": Call(39, 172),
    "read": Call(0, 63),
    "write": Call(1, 64),
    "futex": Call(202, 98),
    "epoll_wait": Call(232, None),
    "epoll_pwait": Call(281, 22),
    "epoll_ctl": Call(233, 21),
    "sendto": Call(44, 206, Null(4)),  # to whom it is connected, and to no address
    "recvfrom": Call(45, 207),
    "accept4": Call(288, 242),
    "close": Call(3, 57),
    "fcntl": Call(72, 25, OneOf(1, (_F_GETFD, _F_SETFD, _F_GETFL, _F_SETFL))),  # F_DUPFD and leases are others
    "getsockname": Call(51, 204),
    "getpeername": Call(52, 205),
    "getsockopt": Call(55, 209),
    # Memory, in which nothing that was written can be run.
    "brk": Call(12, 214),
    "mmap": Call(9, 222, Without(2, _PROT_EXEC)),
    "mprotect": Call(10, 226, Without(2, _PROT_EXEC)),
    "munmap": Call(11, 215),
    "mremap": Call(25, 216),
    "madvise": Call(28, 233),
    "sched_getaffinity": Call(204, 123),  # the allocator counts processors
    # Clocks, where they are not read without a call.
    "clock_gettime": Call(228, 113),
    "clock_getres": Call(229, 114),
    "gettimeofday": Call(96, 169),
    "time": Call(201, None),
    "clock_nanosleep": Call(230, 115),
    "nanosleep": Call(35, 101),
    "restart_syscall": Call(219, 128),
    # A thread that begins; one that ends.
    "set_robust_list": Call(273, 99),
    "rseq": Call(334, 293),
    "gettid": Call(186, 178),
    "prctl": Call(157, 167, OneOf(0, (_PR_SET_NAME,))),
    "sched_getparam": Call(143, 121),
    "sched_getscheduler": Call(145, 120),
    "sched_setscheduler": Call(144, 119, OneOf(1, (_SCHED_OTHER,))),  # ZeroMQ aborts when it may not keep this
    "sched_yield": Call(24, 124),
    "exit": Call(60, 93),
    # Signals: to end when capture is gone, and to die of a fault. To itself alone.
    "rt_sigprocmask": Call(14, 135),
    "rt_sigaction": Call(13, 134),
    "rt_sigreturn": Call(15, 139),
    "tgkill": Call(234, 131, Itself(0)),
    "alarm": Call(37, None),
    "setitimer": Call(38, 103),
    "getrandom": Call(318, 278),
    "exit_group": Call(231, 94),
}
"""The calls of a worker, those it makes most often first."""
