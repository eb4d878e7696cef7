from __future__ import annotations

import pytest

from tests.support import x_packets as x
from workers.mysql.errors import StreamViolation
from workers.mysqlx.protobuf import BYTES, FIXED32, FIXED64, MOST_FIELDS, VARINT, Field, fields, signed, varint


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 1 << 32, (1 << 64) - 1])
def test_a_varint_is_read_back(value: int) -> None:
    data = b"\xff" + x.varint(value) + b"\xff"
    assert varint(data, 1, len(data)) == (value, len(data) - 1)


def test_bits_of_a_varint_beyond_64_are_dropped() -> None:
    assert varint(b"\xff" * 9 + b"\x7f", 0, 10) == ((1 << 64) - 1, 10)


@pytest.mark.parametrize(("data", "error"), [(b"", IndexError), (b"\x80", IndexError), (b"\x80" * 11, StreamViolation)])
def test_a_varint_that_does_not_end_is_refused(data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        varint(data, 0, len(data))


def test_a_varint_ends_with_its_message_though_the_buffer_goes_on() -> None:
    with pytest.raises(IndexError):
        varint(b"\x80\x01", 0, 1)


@pytest.mark.parametrize(("raw", "value"), [(0, 0), (1, -1), (2, 1), ((1 << 64) - 1, -(1 << 63))])
def test_signed_numbers_are_zigzag(raw: int, value: int) -> None:
    assert signed(raw) == value


def test_every_kind_of_field_is_read_in_place() -> None:
    data = x.number(1, 300) + x.part(2, b"text") + b"\x19" + b"\1" * 8 + b"\x25" + b"\2" * 4
    assert list(fields(data, 0, len(data))) == [
        Field(1, VARINT, 300, 1, 3),
        Field(2, BYTES, 4, 5, 9),
        Field(3, FIXED64, 0x0101010101010101, 10, 18),
        Field(4, FIXED32, 0x02020202, 19, 23),
    ]


HOSTILE = {
    "field number 0": b"\x00\x00",
    "a group": b"\x0b\x0c",
    "a wire type that is none": b"\x0e",
    "bytes beyond the message": b"\x0a\x05abc",
    "bytes of 2^64 - 1": b"\x0a" + b"\xff" * 9 + b"\x01",
    "a tag without end": b"\xff" * 11,
    "a tag alone": b"\x08",
    "a fixed field cut short": b"\x09\x01\x02",
    "a field number too large": x.varint((1 << 30) << 3) + b"\x00",
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_message_is_refused_behind_what_came_before(data: bytes) -> None:
    found = fields(x.number(1, 7) + data, 0, 2 + len(data))
    assert next(found).value == 7
    with pytest.raises(StreamViolation):
        next(found)


def test_a_field_never_reaches_beyond_its_message_though_the_buffer_goes_on() -> None:
    with pytest.raises(StreamViolation):
        list(fields(b"\x0a\x03abc", 0, 4))


def test_of_a_message_that_was_cut_the_last_field_is_there_as_far_as_it_goes() -> None:
    data = x.number(1, 7) + b"\x12\x64" + b"abc"
    *_, last = fields(data, 0, len(data), cut=True)
    assert (last.value, data[last.begin : last.stop]) == (100, b"abc")
    assert [each.value for each in fields(x.number(1, 7) + b"\x12", 0, 3, cut=True)] == [7]


def test_more_fields_than_any_message_has_are_refused() -> None:
    data = x.number(1, 1) * MOST_FIELDS
    assert sum(1 for _ in fields(data, 0, len(data))) == MOST_FIELDS
    with pytest.raises(StreamViolation):
        list(fields(data + x.number(1, 1), 0, len(data) + 2))
