from __future__ import annotations

import pytest

from tests.support import mysql_packets as mysql
from workers.mysql.errors import StreamViolation
from workers.mysql.prepared import Prepared, bound_values, skip_value


@pytest.mark.parametrize(
    ("code", "size"),
    [(1, 1), (2, 2), (13, 2), (3, 4), (9, 4), (4, 4), (8, 8), (5, 8), (6, 0)],
)
def test_numbers_have_a_size_by_their_type(code: int, size: int) -> None:
    assert skip_value(bytes(20), 3, 20, code) == 3 + size
    assert skip_value(bytes(20), 20 - size, 20, code) == 20
    if size:
        with pytest.raises(StreamViolation):
            skip_value(bytes(40), 21 - size, 20, code)


@pytest.mark.parametrize("code", [7, 10, 11, 12])
def test_dates_and_times_say_their_size(code: int) -> None:
    assert skip_value(b"\x04abcd", 0, 5, code) == 5
    with pytest.raises(StreamViolation):
        skip_value(b"\x04abcd", 0, 4, code)
    with pytest.raises(IndexError):
        skip_value(b"\x04abcd", 5, 5, code)


@pytest.mark.parametrize("size", [0, 250, 251, 65535, 65536])
def test_strings_say_their_size(size: int) -> None:
    data = mysql.counted(bytes(size))
    assert skip_value(data + b"more", 0, len(data), 253) == len(data)
    if size:
        with pytest.raises(StreamViolation):
            skip_value(data, 0, len(data) - 1, 253)


@pytest.mark.parametrize("upper", [b"\0\0\0\0", b"\0\0\0\x80", b"\xff\xff\xff\xff"])
def test_of_a_length_of_eight_bytes_the_lower_four_count_as_for_the_server(upper: bytes) -> None:
    data = b"\xfe\x05\0\0\0" + upper + b"hello"
    assert skip_value(data + b"more", 0, len(data), 253) == len(data)
    with pytest.raises(StreamViolation):
        skip_value(data, 0, len(data) - 1, 253)
    with pytest.raises(IndexError):
        skip_value(data, 0, 8, 253)


def test_a_length_of_2_to_the_32_less_one_leaves_the_packet() -> None:
    with pytest.raises(StreamViolation):
        skip_value(b"\xfe" + b"\xff" * 8 + b"text", 0, 13, 253)


def test_bound_values_carry_their_types() -> None:
    prepared = Prepared(b"SELECT ?", 8, 1)
    sent = b"\0\x01\x01\0\x05"
    assert bound_values(prepared, sent + b"more", 0, len(sent)) == b"\x01\0\0\x01\0\x05"
    assert prepared.types == b"\x01\0"
