from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from errno import ENOSYS, EPERM
from pathlib import Path

import pytest

from collector.capture import calls, seccomp
from collector.capture.seccomp import ALLOW, ARCHITECTURES, KILL_PROCESS, REFUSE, UNKNOWN
from tests.unit.collector.capture.interpreter import run

PID = 4321
X32 = 0x4000_0000
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}

machines = pytest.mark.parametrize("machine", ARCHITECTURES)


def verdict(machine: str, number: int, *arguments: int, architecture: int | None = None) -> int:
    """What the filter of a worker gives for a call; each word in the order in which the interpreter reads it."""
    found = ARCHITECTURES[machine] if architecture is None else architecture
    words = [number, found, 0, 0]
    for argument in (*arguments, 0, 0, 0, 0, 0, 0)[:6]:
        words += [argument & 0xFFFF_FFFF, argument >> 32]
    return run(seccomp.build(machine, calls.WORKER, PID), struct.pack(f">{len(words)}I", *words), {})


def numbers(machine: str) -> Mapping[str, int]:
    """The numbers of the calls that a worker may make."""
    found = {name: getattr(call, machine) for name, call in calls.WORKER.items()}
    return {name: number for name, number in found.items() if number is not None}


@machines
def test_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip(f"the kernel's headers are not installed: {HEADERS[machine]}")
    text = HEADERS[machine].read_text(encoding="utf-8")
    known = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}
    assert {name: known.get(name) for name in numbers(machine)} == numbers(machine)
    absent = calls.WORKER.keys() - numbers(machine).keys()
    assert not absent & known.keys()


@machines
def test_what_is_not_named_is_refused_and_what_is_newer_is_unknown(machine: str) -> None:
    named = set(numbers(machine).values())
    assert {verdict(machine, number) for number in range(calls.NEWEST + 1) if number not in named} == {REFUSE}
    assert {verdict(machine, number) for number in (calls.NEWEST + 1, 1000, 2**30 - 1)} == {UNKNOWN}
    assert (REFUSE & 0xFFFF, UNKNOWN & 0xFFFF) == (EPERM, ENOSYS)


@machines
def test_what_is_named_without_a_condition_is_allowed(machine: str) -> None:
    for name, call in calls.WORKER.items():
        if call.only is None and name in numbers(machine):
            assert verdict(machine, numbers(machine)[name], *[2**64 - 1] * 6) == ALLOW, name


@machines
@pytest.mark.parametrize(
    ("name", "arguments", "allowed"),
    [
        ("mmap", (0, 4096, 3), True),
        ("mmap", (0, 4096, 7), False),
        ("mmap", (0, 4096, 4), False),
        ("mprotect", (4096, 4096, 0), True),
        ("mprotect", (4096, 4096, 5), False),
        ("fcntl", (3, 1), True),
        ("fcntl", (3, 4, 0o4000), True),
        ("fcntl", (3, 0), False),  # F_DUPFD
        ("fcntl", (3, 1030), False),  # F_DUPFD_CLOEXEC
        ("tgkill", (PID, 7, 6), True),
        ("tgkill", (PID + 1, PID + 1, 9), False),
        ("sendto", (3, 4096, 10, 0, 0, 0), True),
        ("sendto", (3, 4096, 10, 0, 4096, 16), False),
        ("sendto", (3, 4096, 10, 0, 1 << 32, 16), False),
        ("prctl", (15, 4096), True),  # PR_SET_NAME
        ("prctl", (4, 1), False),  # PR_SET_DUMPABLE
        ("sched_setscheduler", (0, 0), True),
        ("sched_setscheduler", (0, 1), False),  # SCHED_FIFO
    ],
)
def test_some_calls_are_allowed_with_some_arguments(
    machine: str, name: str, arguments: tuple[int, ...], *, allowed: bool
) -> None:
    assert verdict(machine, numbers(machine)[name], *arguments) == (ALLOW if allowed else REFUSE)


@machines
def test_a_call_in_the_manner_of_another_processor_is_death(machine: str) -> None:
    others = {0x4000_0003, 0x4000_0028, 0, *ARCHITECTURES.values()} - {ARCHITECTURES[machine]}  # i386, arm
    for architecture in others:
        for number in (*numbers(machine).values(), 59):
            assert verdict(machine, number, architecture=architecture) == KILL_PROCESS


def test_numbers_of_x32_are_refused() -> None:
    assert {verdict("x86_64", X32 | number) for number in range(calls.NEWEST + 100)} == {REFUSE}


def test_there_is_a_table_for_64_bits_of_two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, found in (("x86_64", "x86_64"), ("aarch64", "aarch64"), ("aarch64_be", None), ("ppc64le", None)):
        monkeypatch.setattr("platform.machine", lambda name=name: name)
        assert seccomp.machine() == found
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("sys.maxsize", 2**31 - 1)
    assert seccomp.machine() is None
    assert seccomp.flags() is None
