from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from collector.aggregator.backlog import Backlog


def backlog(*names: str) -> Backlog:
    return Backlog((name, len(name)) for name in names)


def taken(held: Backlog) -> list[str]:
    found = []
    while (one := held.take()) is not None:
        found.append(one[0])
    return found


def test_the_newest_and_the_oldest_take_turns() -> None:
    assert taken(backlog("a", "b", "c", "d", "e")) == ["e", "a", "d", "b", "c"]


def test_one_that_comes_meanwhile_is_the_next_newest() -> None:
    held = backlog("a", "b", "c", "d")
    assert [held.take(), held.take()] == [("d", 1), ("a", 1)]
    held.add("e", 1)
    assert taken(held) == ["e", "b", "c"]


def test_one_that_failed_goes_again_after_all_others() -> None:
    held = backlog("a", "b", "c")
    assert held.take() == ("c", 1)
    held.failed("c")
    assert [held.take(), held.take(), held.take()] == [("a", 1), ("b", 1), ("c", 1)]


def test_those_that_failed_keep_their_order() -> None:
    held = backlog("a", "b", "c", "d")
    for name in ("d", "a", "c", "b"):
        assert held.take() == (name, 1)
        held.failed(name)
    assert taken(held) == ["d", "a", "c", "b"]


def test_what_is_on_its_way_is_not_the_oldest_to_evict_but_still_the_head() -> None:
    held = backlog("a", "b", "c")
    assert [held.take(), held.take()] == [("c", 1), ("a", 1)]
    assert (held.oldest(), held.head()) == ("b", "a")
    held.failed("a")
    assert held.oldest() == "a"
    held.remove("a")
    assert (held.oldest(), held.head()) == ("b", "b")


def test_an_empty_one_has_nothing() -> None:
    held = Backlog()
    assert (held.take(), held.oldest(), held.head(), len(held), held.waiting) == (None, None, None, 0, False)


class Use(RuleBasedStateMachine):
    """Whatever happens in whatever order, each object is in one place and the sums are right."""

    def __init__(self) -> None:
        super().__init__()
        self.held = Backlog()
        self.sizes: dict[str, int] = {}
        self.away: list[str] = []

    @rule(size=st.integers(0, 1000))
    def add(self, size: int) -> None:
        name = f"object {len(self.sizes)} {size}"
        if name not in self.sizes:
            self.sizes[name] = size
            self.held.add(name, size)

    @rule()
    def take(self) -> None:
        one = self.held.take()
        assert (one is None) == (len(self.away) == len(self.sizes))
        if one is not None:
            assert self.sizes[one[0]] == one[1]
            assert one[0] not in self.away
            self.away.append(one[0])

    @precondition(lambda self: self.away)
    @rule(which=st.integers(0), stored=st.booleans())
    def come_back(self, which: int, *, stored: bool) -> None:
        name = self.away.pop(which % len(self.away))
        if stored:
            self.held.remove(name)
            del self.sizes[name]
        else:
            self.held.failed(name)

    @rule()
    def evict(self) -> None:
        name = self.held.oldest()
        expected = [each for each in self.sizes if each not in self.away]
        assert name == (expected[0] if expected else None)
        if name is not None:
            self.held.remove(name)
            del self.sizes[name]

    @invariant()
    def sums_hold(self) -> None:
        assert self.held.size_bytes == sum(self.sizes.values())
        assert len(self.held) == len(self.sizes)
        assert self.held.away == len(self.away)
        assert self.held.waiting == (len(self.away) < len(self.sizes))
        assert all(name in self.held for name in self.sizes)


TestUse = Use.TestCase


@pytest.mark.parametrize("refused", [0, 5, 9])
@given(st.data())
def test_one_that_is_always_refused_holds_up_no_other(refused: int, data: st.DataObject) -> None:
    held = backlog(*map(str, range(10)))
    tries = 0
    while len(held) > 1:
        one = held.take()
        assert one is not None
        tries += 1
        if one[0] == str(refused):
            held.failed(one[0])
        else:
            held.remove(one[0])
            if tries < 20 and data.draw(st.booleans()):
                held.add(f"new {tries}", 1)
    assert held.head() == str(refused)
