from __future__ import annotations

import errno
import os
import struct
from collections.abc import Callable
from typing import Self

import pytest

from collector.capture import fanout, symmetry
from collector.capture.interfaces import InterfaceError
from collector.config import StartError

UNIQUE = 0x2000
FANOUT, FANOUT_DATA = 18, 22


class Kernel:
    """Stands for the sockets of a group: notes what it is asked to join, and refuses what *refuses* says."""

    def __init__(self, refuses: Callable[[tuple[int, ...]], int]) -> None:
        self.asked: list[tuple[int, ...]] = []
        """Number, kind and flags, and the most members where they are told."""
        self.programs = 0
        self._refuses = refuses

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to give back."""

    def setsockopt(self, _level: int, option: int, value: bytes) -> None:
        if option == FANOUT_DATA:
            self.programs += 1
            return
        assert option == FANOUT
        asked = struct.unpack("=2HI" if len(value) == 8 else "=2H", value)
        self.asked.append(asked)
        number = self._refuses(asked)
        if number:
            raise OSError(number, "refused")

    def getsockopt(self, _level: int, _option: int) -> int:
        return 7


def kernel_that(refuses: Callable[[tuple[int, ...]], int], monkeypatch: pytest.MonkeyPatch) -> Kernel:
    kernel = Kernel(refuses)
    monkeypatch.setattr(fanout, "borrowed", lambda _: kernel)
    return kernel


def join(
    monkeypatch: pytest.MonkeyPatch, interface: int, refuses: Callable[[tuple[int, ...]], int], kind: str = "hash"
) -> list[tuple[int, ...]]:
    """Found a group of three; what the kernel was asked."""
    kernel = kernel_that(refuses, monkeypatch)
    fanout.join(range(3), interface, kind)
    return kernel.asked


def test_the_kernel_picks_the_number_of_the_group_and_closes_it_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    assert join(monkeypatch, 0, lambda _: 0) == [(0, UNIQUE, 3), (7, 0, 3), (7, 0, 3)]


def test_a_kernel_that_closes_no_group_or_picks_no_number_is_asked_for_less(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = join(monkeypatch, 3, lambda asked: errno.EINVAL if len(asked) == 3 else 0)
    assert asked == [(0, UNIQUE, 3), (0, UNIQUE), (7, 0), (7, 0)]
    asked = join(monkeypatch, 3, lambda asked: errno.EINVAL if asked[1] & UNIQUE else 0)
    assert asked == [(0, UNIQUE, 3), (0, UNIQUE), (os.getpid() & 0xFFFF, 0), (7, 0), (7, 0)]


def test_a_program_is_given_to_the_group_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kernel_that(lambda _: 0, monkeypatch)
    fanout.join(range(2), 0, "cbpf", defragment=True)
    assert kernel.asked == [(0, 6 | UNIQUE | 0x8000, 2), (7, 6 | 0x8000, 2)]
    assert kernel.programs == 1


def test_a_kernel_that_takes_no_program_is_said_to_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StartError, match="by a program") as caught:
        join(monkeypatch, 0, lambda asked: errno.EINVAL if asked[1] & 6 else 0, "cbpf")
    assert "capture.fanout" in caught.value.remedy


@pytest.mark.parametrize(
    ("trial", "programs", "kind", "why"),
    [
        (None, True, "hash", "tried"),
        ("it separates directions", True, "cbpf", "as it separates directions"),
        ("it separates directions", False, "hash", "though it separates directions"),
    ],
)
def test_what_a_trial_shows_decides(
    monkeypatch: pytest.MonkeyPatch, trial: str | None, programs: bool, kind: str, why: str
) -> None:
    monkeypatch.setattr(symmetry, "trial", lambda _: trial)
    monkeypatch.setattr(fanout, "_takes_programs", lambda: programs)
    chosen, note = fanout.choose("auto")
    assert chosen == kind
    assert f"fanout {kind}" in note
    assert why in note


@pytest.mark.parametrize("kind", ["hash", "cbpf"])
def test_what_was_asked_for_is_not_tried(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.delattr(symmetry, "trial")
    assert fanout.choose(kind) == (kind, f"fanout {kind}, as capture.fanout says")


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENETDOWN, errno.ENODEV])
def test_an_interface_that_is_down_is_said_to_be_so_and_can_be_waited_for(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    with pytest.raises(InterfaceError, match="an interface that is down") as caught:
        join(monkeypatch, 3, lambda _: number)
    assert "ip link set" in caught.value.remedy


def test_without_an_interface_of_its_own_it_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OSError, match="refused") as caught:
        join(monkeypatch, 0, lambda _: errno.EINVAL)
    assert not isinstance(caught.value, InterfaceError)
