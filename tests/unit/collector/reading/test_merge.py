from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.archive.names import ObjectName
from collector.reading import merge
from collector.reading.archive import Entry, in_order
from collector.reading.merge import Opened, in_order_of_time
from collector.reading.runs import Line


def entry(instance: str, sequence: int, times: list[int]) -> Entry:
    name = ObjectName(instance * 32, min(times, default=0), max(times, default=0), sequence, "0" * 16)
    return Entry(f"{instance}{sequence}", name, io.BytesIO)


class Archive:
    """Objects of numbers, which are times; the clock of each instance is ahead of its monotonic one by *ahead*."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.opened: list[str] = []
        self._lines: dict[str, Opened] = {}

    def add(self, instance: str, sequence: int, times: list[int], *, ahead: int = 0, boot: str = "b") -> None:
        made = entry(instance, sequence, times)
        self.entries.append(made)
        lines = [Line(time - ahead, time, b"%s%d" % (instance.encode(), time)) for time in times]
        self._lines[made.path] = Opened(boot, [iter(sorted(lines))])

    def open(self, which: Entry) -> Opened:
        self.opened.append(which.path)
        return self._lines[which.path]

    def read(self) -> list[str]:
        return [line.decode() for line in in_order_of_time(in_order(self.entries), self.open)]


@given(st.dictionaries(st.sampled_from("abc"), st.lists(st.lists(st.integers(0, 99), max_size=6), max_size=6)))
def test_statements_of_all_objects_come_in_order_of_time(instances: dict[str, list[list[int]]]) -> None:
    archive = Archive()
    for instance, objects in instances.items():
        for sequence, times in enumerate(objects, 1):
            archive.add(instance, sequence, times)
    times = [int(text[1:]) for text in archive.read()]
    assert times == sorted(time for objects in instances.values() for each in objects for time in each)
    assert sorted(archive.opened) == sorted(entry.path for entry in archive.entries)


def test_an_object_is_opened_when_its_time_has_come_and_not_before() -> None:
    archive = Archive()
    for sequence in range(1, 9):
        archive.add("a", sequence, [sequence * 10, sequence * 10 + 12])
        archive.add("b", sequence, [sequence * 10 + 5])
    lines = in_order_of_time(in_order(archive.entries), archive.open)
    assert [next(lines) for _ in range(3)] == [b"a10", b"b15", b"a20"]
    assert set(archive.opened) == {"a1", "a2", "b1", "b2"}


def test_where_a_clock_is_set_back_the_order_of_its_host_is_kept() -> None:
    archive = Archive()
    archive.add("a", 1, [100, 101], ahead=0)
    archive.add("a", 2, [50, 51], ahead=-60)
    archive.add("a", 3, [52, 60], ahead=-60)
    assert archive.read() == ["a100", "a101", "a50", "a51", "a52", "a60"]


def test_boots_come_one_after_the_other_whatever_their_clocks_say() -> None:
    archive = Archive()
    archive.add("a", 1, [100, 101], ahead=10, boot="one")
    archive.add("a", 2, [50, 51], ahead=49, boot="two")
    archive.add("a", 3, [102], ahead=101, boot="three")
    assert archive.read() == ["a100", "a101", "a50", "a51", "a102"]


def test_no_more_objects_are_open_than_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "MOST_OPEN", 3)
    archive = Archive()
    for sequence in range(1, 20):
        archive.add("a", sequence, [1, sequence + 100])
    lines = in_order_of_time(in_order(archive.entries), archive.open)
    assert [next(lines) for _ in range(3)] == [b"a1"] * 3
    assert len(archive.opened) <= 4
    assert len(list(lines)) == 35


def test_objects_whose_names_tell_nothing_come_last() -> None:
    archive = Archive()
    archive.add("a", 1, [5, 6])
    odd = Entry("odd", None, io.BytesIO)
    found = in_order_of_time(
        [*archive.entries, odd],
        lambda which: Opened("b", [iter([Line(1, 1, b"odd")])]) if which is odd else archive.open(which),
    )
    assert list(found) == [b"a5", b"a6", b"odd"]
    assert Path(odd.path).name == "odd"
