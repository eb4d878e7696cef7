from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.monitor.database import gtid

pytestmark = pytest.mark.either_build

A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
B = "4e11fa47-71ca-11e1-9e33-c80aa9429562"


@pytest.mark.parametrize(
    ("received", "executed", "behind"),
    [
        ("", "", 0),
        (f"{A}:1-10", f"{A}:1-7", 3),
        (f"{A}:5", "", 1),
        (f"{A}:1-5:8-10,\n{B}:1-2", f"{B}:1,{A.upper()}:2-3:9", 6),
        (f"{A}:1-3:red:1-9", f"{A}:1-3:red:1-4", 5),
        (f"{A}:1-3", f"{A}:1-100,{B}:1-5", 0),
    ],
)
def test_what_was_received_and_is_not_executed_is_counted(received: str, executed: str, behind: int) -> None:
    assert gtid.behind(received, executed) == behind


def written(numbers: set[int]) -> str:
    return ":".join([A, *map(str, sorted(numbers))]) if numbers else ""


@given(st.sets(st.integers(1, 40)), st.sets(st.integers(1, 40)))
def test_it_is_the_difference_of_sets(received: set[int], executed: set[int]) -> None:
    assert gtid.behind(written(received), written(executed)) == len(received - executed)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9))), st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)))
)
def test_so_it_is_of_spans(received: list[tuple[int, int]], executed: list[tuple[int, int]]) -> None:
    def spans(steps: list[tuple[int, int]]) -> tuple[str, set[int]]:
        at, words, numbers = 1, [A], set[int]()
        for gap, length in steps:
            at += gap
            words.append(f"{at}-{at + length}")
            numbers |= set(range(at, at + length + 1))
            at += length + 1
        return ":".join(words) if numbers else "", numbers

    (text, wanted), (done, there) = spans(received), spans(executed)
    assert gtid.behind(text, done) == len(wanted - there)


def test_positions_of_mariadb_are_compared_by_domain() -> None:
    assert gtid.behind_by_position("0-1-100,1-2-50", "0-1-90") == 60
    assert gtid.behind_by_position("0-1-100", "0-2-120") == 0
    with pytest.raises(ValueError, match="unpack"):
        gtid.behind_by_position("0-1", "")
