from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from collector.capture import fanout, groups, methods, sockets
from collector.capture.groups import Wanted
from collector.capture.sockets import MethodError, Shape
from collector.config import StartError

WANTED = Wanted(workers=2, shape=Shape(ring_mib=8, block_timeout_ms=100))


class Method:
    """A method of a kernel that may refuse it, as the sockets that it opens."""

    block_count, block_bytes, fd = 8, 1 << 20, 3

    def __init__(self, name: str, refusal: str = "", doubt: str | None = None, opens: int = 99) -> None:
        self.METHOD = name
        self._refusal = refusal
        self._doubt = doubt
        self._opens = opens
        self.open_now = 0

    def open(self, _: Shape) -> Method:
        if self._refusal or self.open_now == self._opens:
            raise MethodError(self._refusal or "no more memory")
        self.open_now += 1
        return self

    def unsound(self) -> str | None:
        return self._doubt

    def close(self) -> None:
        self.open_now -= 1

    def take_counters(self) -> None:
        """Nothing has come."""


@pytest.fixture(autouse=True)
def _no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "bind", lambda *_: None)
    monkeypatch.setattr(fanout, "join", lambda *_, **__: None)
    monkeypatch.setattr(fanout, "choose", lambda wanted: (wanted, f"fanout {wanted}"))


def opened(monkeypatch: pytest.MonkeyPatch, wanted: Wanted, *found: Method) -> groups.Group:
    monkeypatch.setattr(groups, "METHODS", found)
    return groups.open_group(wanted)


def test_of_all_methods_the_first_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    group = opened(monkeypatch, WANTED, Method("ring"), Method("ring-v2"))
    assert len(group.members) == 2
    assert group.notes[1:] == ["fanout auto"]
    assert group.notes[0] == ("method ring, 8 blocks of 1024 KiB a worker: the first choice, and this kernel has it")


def test_what_the_kernel_refuses_or_does_badly_is_passed_over_and_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    short = Method("ring-v2", opens=1)
    found = (Method("ring", doubt="it loses wake-ups"), short, Method("socket"))
    note = opened(monkeypatch, WANTED, *found).notes[0]
    assert note.startswith("method socket, ")
    assert note.endswith(": ring is out: it loses wake-ups; ring-v2 is out: no more memory")
    assert short.open_now == 0, "what was opened of a method that is not used is closed"


def test_a_method_that_was_asked_for_is_taken_whatever_speaks_against_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = (Method("ring", doubt="it loses wake-ups"), Method("socket"))
    note = opened(monkeypatch, replace(WANTED, method="ring"), *found).notes[0]
    assert note.endswith("as capture.method says, though it loses wake-ups")
    note = opened(monkeypatch, replace(WANTED, method="socket"), *found).notes[0]
    assert note.endswith("as capture.method says")


def test_a_method_that_was_asked_for_and_is_refused_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StartError, match="no such ring"):
        opened(monkeypatch, replace(WANTED, method="ring"), Method("ring", "no such ring"), Method("socket"))


def test_where_nothing_is_left_every_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StartError, match="in no way here: a is out: one; b is out: two"):
        opened(monkeypatch, WANTED, Method("a", "one"), Method("b", "two"))


def test_a_failure_after_the_opening_closes_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:  # noqa: ANN401  # as bind() takes them
        raise OSError("no")

    monkeypatch.setattr(sockets, "bind", refuse)
    method = Method("ring")
    with pytest.raises(OSError, match="no"):
        opened(monkeypatch, WANTED, method)
    assert method.open_now == 0


def test_the_methods_are_tried_from_the_cheapest_on_and_are_what_the_option_allows() -> None:
    assert [method.METHOD for method in methods.METHODS] == ["ring", "ring-v2", "socket"]
