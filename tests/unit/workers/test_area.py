"""What one process writes is there for the next, whenever the first one ends."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.area import LEAST_BYTES, Area, AreaError

HALF = (LEAST_BYTES - 64) // 2


def memory() -> bytearray:
    return bytearray(LEAST_BYTES)


def area(of: bytearray) -> Area:
    return Area(memoryview(of))


def left(in_: bytearray) -> list[bytes]:
    return area(in_).read()


def test_new_memory_holds_nothing() -> None:
    assert left(memory()) == []


def test_frames_come_back_in_their_order() -> None:
    shared = memory()
    writer = area(shared)
    assert all(writer.append(frame) for frame in (b"one", b"", b"three"))
    assert left(shared) == [b"one", b"", b"three"]
    assert area(shared).append(b"four"), "without having read it, one begins anew"
    assert left(shared) == [b"four"]


def test_who_has_read_it_goes_on_behind_what_is_there() -> None:
    shared = memory()
    area(shared).append(b"one")
    second = area(shared)
    second.read()
    second.append(b"two")
    assert left(shared) == [b"one", b"two"]


def test_a_frame_without_room_is_refused_and_changes_nothing() -> None:
    shared = memory()
    writer = area(shared)
    assert writer.append(b"x" * (HALF - 8 - 11))
    before = bytes(shared)
    assert not writer.append(b"1234")
    assert bytes(shared) == before
    assert writer.append(b"123")
    assert left(shared)[1:] == [b"123"]


def test_what_replaces_the_frames_is_all_there_is_again_and_again() -> None:
    shared = memory()
    writer = area(shared)
    for number in range(5):
        writer.append(b"before")
        writer.replace(b"%d" % number)
        assert left(shared) == [b"%d" % number]
        assert writer.append(b"behind")
        assert left(shared) == [b"%d" % number, b"behind"]


@pytest.mark.parametrize("replace", [False, True])
def test_of_a_write_that_was_cut_short_nothing_is_there(replace: bool) -> None:
    """Whatever of the bytes had been written: the word that says how far they reach is written last."""
    shared = memory()
    writer = area(shared)
    writer.append(b"known")
    before = bytes(shared)
    (writer.replace if replace else writer.append)(b"never finished")
    changed = [at for at, (old, new) in enumerate(zip(before, shared, strict=True)) if old != new]
    head = [at for at in changed if at < 64]
    assert {at // 8 for at in head} == {1}, "one word"
    for cut in (*range(0, len(changed), 3), len(changed)):
        torn = bytearray(before)
        for at in itertools.islice((at for at in changed if at >= 64), cut):
            torn[at] = shared[at]
        assert left(torn) == [b"known"]


@pytest.mark.parametrize("at", [0, 12, 64, 68, 72])
def test_damage_is_noticed(at: int) -> None:
    shared = memory()
    area(shared).append(b"known")
    shared[at] ^= 0x55
    with pytest.raises(AreaError):
        left(shared)
    damaged = area(shared)
    with pytest.raises(AreaError):
        damaged.read()
    damaged.replace(b"written anew")
    assert left(shared) == [b"written anew"]


@given(changes=st.lists(st.tuples(st.integers(0, 160), st.binary(min_size=1, max_size=8)), min_size=1, max_size=4))
def test_whatever_it_holds_it_is_read_or_refused(changes: list[tuple[int, bytes]]) -> None:
    shared = memory()
    writer = area(shared)
    for frame in (b"one", b"two" * 10, b"three" * 5):
        writer.append(frame)
    for at, data in changes:
        shared[at : at + len(data)] = data
    try:
        frames = left(shared)
    except AreaError:
        return
    assert sum(map(len, frames)) <= HALF
