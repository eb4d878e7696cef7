from __future__ import annotations

import array
import mmap
from typing import Any, cast

import pytest

from workers import page
from workers.arrivals import Arrivals
from workers.counters import NAMES
from workers.page import Ports


@pytest.fixture
def words() -> memoryview:
    return memoryview(bytearray(mmap.PAGESIZE)).cast("Q")


def test_ports_come_back_as_they_were_written(words: memoryview) -> None:
    assert page.read_ports(words) == (0, Ports((), ()))
    page.write_ports(words, Ports((3306, 65535), (33060,)), 1)
    assert page.read_ports(words) == (1, Ports((3306, 65535), (33060,)))
    page.write_ports(words, Ports((1,), ()), 2)
    assert page.read_ports(words) == (2, Ports((1,), ()))


def test_there_is_room_for_the_most_ports_of_each_protocol_and_no_more(words: memoryview) -> None:
    most = tuple(range(1, page.MOST_PORTS + 1))
    page.write_ports(words, Ports(most, most), 1)
    assert page.read_ports(words) == (1, Ports(most, most))
    assert words[page.FIRST_COUNTER_WORD] == 0
    with pytest.raises(ValueError, match="65 ports, the page has room for 64"):
        page.write_ports(words, Ports((), (*most, 65)), 2)


def test_ports_written_while_they_are_read_are_read_again() -> None:
    class Words:
        """Changes under the reader's hands, once."""

        def __init__(self) -> None:
            self.now = [0] * 512

        def __getitem__(self, at: int | slice) -> Any:  # noqa: ANN401  # as a memoryview
            if isinstance(at, int):
                return self.now[at]
            read = array.array("Q", self.now[at])
            self.now[page.FIRST_PORT_WORD] = self.now[page.PORTS_VERSION_WORD] = 2
            return read

    words = Words()
    words.now[page.PORT_COUNT_WORD] = words.now[page.FIRST_PORT_WORD] = words.now[page.PORTS_VERSION_WORD] = 1
    assert page.read_ports(cast("memoryview", words)) == (2, Ports((2,), ()))


def test_the_counters_fit_behind_the_ports() -> None:
    assert (page.FIRST_COUNTER_WORD + len(NAMES)) * 8 <= mmap.PAGESIZE


def test_interfaces_lie_behind_the_counters_and_come_back_by_their_index(words: memoryview) -> None:
    assert page.FIRST_COUNTER_WORD + len(NAMES) <= page.FIRST_INTERFACE_WORD
    arrivals = Arrivals()
    for index, kind in ((2, 0), (2, 4), (9, 4), (0, 0)):
        arrivals.count(index, kind)
    arrivals.store(words[page.INTERFACE_WORDS])
    assert page.read_interfaces(words) == {2: (1, 1), 9: (0, 1), 0: (1, 0)}
