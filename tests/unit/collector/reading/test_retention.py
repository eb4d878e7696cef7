from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from collector.archive.names import ObjectName, PrunedName, write_name
from collector.reading.archive import Entry, Listing, gaps, in_order
from collector.reading.retention import Bounds, going

INSTANCES = ("a" * 32, "b" * 32)


def entry(instance: str, sequence: int, last_ns: int, size: int = 10) -> Entry:
    name = ObjectName(instance, last_ns - 1, last_ns, sequence, f"{sequence:016x}")
    return Entry(write_name(name), name, io.BytesIO, size)


def foreign(size: int) -> Entry:
    return Entry("notes.txt", None, io.BytesIO, size)


def sequences(listing: Listing, bounds: Bounds, instances: frozenset[str] = frozenset()) -> dict[str, list[int]]:
    found = going(listing, bounds, instances)
    return {each.instance: [one.name.sequence for one in each.entries if one.name] for each in found}


def test_by_age_goes_what_holds_nothing_younger() -> None:
    listing = Listing(in_order([entry(INSTANCES[0], number, number * 10) for number in range(1, 6)]))
    assert sequences(listing, Bounds(before_ns=30)) == {INSTANCES[0]: [1, 2]}
    (found,) = going(listing, Bounds(before_ns=30))
    assert (found.size, found.note) == (20, PrunedName(INSTANCES[0], 2, f"{2:016x}"))


def test_one_that_was_sealed_while_the_clock_was_ahead_keeps_those_behind_it() -> None:
    times = {1: 10, 2: 1000, 3: 12, 4: 13}
    listing = Listing(in_order([entry(INSTANCES[0], number, time) for number, time in times.items()]))
    assert sequences(listing, Bounds(before_ns=500)) == {INSTANCES[0]: [1]}


def test_by_size_goes_the_oldest_of_all_instances_and_what_is_not_ours_is_in_no_sum() -> None:
    entries = [entry(INSTANCES[0], number, number * 10) for number in (1, 2, 3)]
    entries += [entry(INSTANCES[1], number, number * 10 + 5) for number in (1, 2, 3)]
    listing = Listing(in_order([*entries, foreign(1000)]))
    assert sequences(listing, Bounds(most_bytes=60)) == {}
    assert sequences(listing, Bounds(most_bytes=31)) == {INSTANCES[0]: [1, 2], INSTANCES[1]: [1]}
    assert sequences(listing, Bounds(most_bytes=31), frozenset(INSTANCES[1:])) == {}
    assert sequences(listing, Bounds(most_bytes=29), frozenset(INSTANCES[1:])) == {INSTANCES[1]: [1]}


objects = st.tuples(st.sampled_from(INSTANCES), st.integers(1, 30), st.integers(1, 1000), st.integers(0, 50))


@given(
    st.lists(objects, max_size=30, unique_by=lambda each: each[:2]),
    st.one_of(st.none(), st.integers(0, 1000)),
    st.one_of(st.none(), st.integers(0, 500)),
)
def test_what_stays_misses_nothing_but_what_the_notes_tell(
    made: list[tuple[str, int, int, int]], before_ns: int | None, most_bytes: int | None
) -> None:
    listing = Listing(in_order([entry(*each) for each in made]))
    found = going(listing, Bounds(before_ns, most_bytes))
    gone = {one.path for each in found for one in each.entries}
    kept = [one for one in listing.entries if one.path not in gone]
    before = set(gaps(listing.entries))
    assert set(gaps(kept, {each.instance: each.note for each in found})) <= before
    for each in found:
        numbers = [one.name.sequence for one in each.entries if one.name]
        assert numbers == sorted(numbers)
        assert all(one.name.sequence > max(numbers) for one in kept if one.name and one.name.instance == each.instance)
    if most_bytes is not None:
        assert sum(one.size for one in kept) <= most_bytes
    if before_ns is not None and most_bytes is None:
        assert all(one.name.last_ns < before_ns for each in found for one in each.entries if one.name)
