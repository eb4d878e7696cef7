from __future__ import annotations

import pytest

from workers.tcp.pieces import REACH, Hole, distance, mark


@pytest.mark.parametrize(
    ("later", "earlier", "apart"),
    [
        (5, 3, 2),
        (3, 5, -2),
        (0, 0xFFFFFFFF, 1),
        (0xFFFFFFFF, 0, -1),
        (0x7FFFFFFF, 0, 0x7FFFFFFF),
        (0x80000000, 0, -0x80000000),
        (0xFFFFFFFF, 0xFFFFFFFF, 0),
    ],
)
def test_distance_is_that_in_a_space_that_wraps(later: int, earlier: int, apart: int) -> None:
    assert distance(later, earlier) == apart


def test_no_window_reaches_further_than_window_scaling_allows() -> None:
    assert REACH == 1 << 30  # RFC 7323 section 2.3


@pytest.mark.parametrize("size", [0, 1, 7])
def test_a_mark_tells_short_bytes_apart_by_any_of_them(size: int) -> None:
    data = bytes(range(100, 100 + size))
    marks = {mark(b"##" + data + b"##", 2, 2 + size)}
    for place in range(size):
        marks.add(mark(data[:place] + b"\xff" + data[place + 1 :], 0, size))
    assert len(marks) == size + 1


@pytest.mark.parametrize("size", [8, 9, 12, 13, 50, 5000])
def test_a_mark_tells_bytes_apart_by_beginning_middle_and_end(size: int) -> None:
    data = bytes(size)
    for place in {4, 7, size // 2, size - 4, size - 1}:
        other = mark(b"#" + data[:place] + b"x" + data[place + 1 :] + b"#", 1, 1 + size)
        assert other != mark(data, 0, size)
        assert 0 <= other < 1 << 64


@pytest.mark.parametrize(
    ("start", "size", "joined_start", "joined_size"),
    [
        (130, 20, 100, 50),
        (50, 20, 50, 60),
        (105, 2, 100, 10),
        (95, 40, 95, 40),
        (0xFFFFFFF0, 8, 0xFFFFFFF0, 126),
        (100 + 0x80000000, 1, 100 + 0x80000000, 0x80000000 + 10),  # as far apart as can be: either order will do
    ],
)
def test_two_holes_are_joined_with_what_lies_between(
    start: int, size: int, joined_start: int, joined_size: int
) -> None:
    one, other = Hole(100, 10, b"x", b"y"), Hole(start, size, b"", b"")
    joined = one.joined(other)
    assert (joined.start, joined.size) == (joined_start, joined_size)
    assert (joined.beyond, joined.copy) == (b"", b"")
