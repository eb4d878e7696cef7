from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.archive.names import ObjectName, read_name, write_name

INSTANCE = "0123456789abcdef" * 2
TIMES = st.integers(0, 2**64 - 1)


@given(TIMES, TIMES, st.integers(0, 2**64 - 1))
def test_a_name_comes_back_as_it_was_written(first_ns: int, last_ns: int, sequence: int) -> None:
    name = ObjectName(INSTANCE, first_ns, last_ns, sequence, "00ff00ff00ff00ff")
    assert read_name(write_name(name)) == name
    assert read_name("some/folder/" + write_name(name)) == name


@given(TIMES, TIMES)
def test_names_sort_by_time(one_ns: int, other_ns: int) -> None:
    one, other = (write_name(ObjectName(INSTANCE, at, at, 1, "0" * 16)) for at in (one_ns, other_ns))
    assert (one < other) == (one_ns < other_ns)


def test_a_name_shows_its_time_span_to_people() -> None:
    name = ObjectName(INSTANCE, 1_700_000_000_123_456_789, 1_700_000_010_000_000_000, 42, "a" * 16)
    assert write_name(name) == (
        f"{INSTANCE}/2023-11-14/20231114T221320.123456789Z_20231114T221330.000000000Z_0000000042_{'a' * 16}.querytap"
    )


def test_the_latest_time_a_header_can_hold_has_a_name() -> None:
    name = ObjectName(INSTANCE, 2**64 - 1, 2**64 - 1, 1, "0" * 16)
    assert read_name(write_name(name)) == name


@pytest.mark.parametrize(
    "path",
    [
        "README.txt",
        "",
        f"{INSTANCE}/2023-11-14/20231114T221320.123456789Z_20231114T221330.000000000Z_0000000042_{'a' * 16}.tmp",
        f"{INSTANCE}/2023-11-14/20231399T221320.123456789Z_20231114T221330.000000000Z_0000000042_{'a' * 16}.querytap",
        f"XYZ/2023-11-14/20231114T221320.123456789Z_20231114T221330.000000000Z_0000000042_{'a' * 16}.querytap",
    ],
)
def test_a_path_that_is_not_an_object_has_no_name(path: str) -> None:
    assert read_name(path) is None
