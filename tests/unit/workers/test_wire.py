from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from workers import wire

Read = Callable[[bytes, int, int], int]

WIDTHS: list[tuple[Read, int]] = [
    (wire.u8, 1),
    (wire.u16, 2),
    (wire.u24, 3),
    (wire.u32, 4),
    (wire.u64, 8),
    (wire.be16, 2),
    (wire.be32, 4),
    (wire.be64, 8),
]
LITTLE: list[tuple[Read, int]] = WIDTHS[:5]
BIG: list[tuple[Read, int]] = WIDTHS[5:]


def name(value: object) -> str:
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize(("read", "width"), WIDTHS, ids=name)
def test_all_bits_set_is_the_largest_number_and_not_a_negative_one(read: Read, width: int) -> None:
    assert read(b"\xff" * width, 0, width) == 2 ** (8 * width) - 1


@pytest.mark.parametrize(("read", "width"), WIDTHS, ids=name)
def test_the_highest_bit_alone_is_positive(read: Read, width: int) -> None:
    order = "little" if (read, width) in LITTLE else "big"
    number = 1 << (8 * width - 1)
    assert read(number.to_bytes(width, order), 0, width) == number  # type: ignore[arg-type]  # a literal either way


@pytest.mark.parametrize(("read", "width"), LITTLE, ids=name)
def test_little_endian_numbers_have_their_lowest_byte_first(read: Read, width: int) -> None:
    data = bytes(range(1, width + 1))
    assert read(b"\xaa\xbb" + data + b"\xcc", 2, 2 + width) == int.from_bytes(data, "little")


@pytest.mark.parametrize(("read", "width"), BIG, ids=name)
def test_big_endian_numbers_have_their_highest_byte_first(read: Read, width: int) -> None:
    data = bytes(range(1, width + 1))
    assert read(b"\xaa\xbb" + data + b"\xcc", 2, 2 + width) == int.from_bytes(data, "big")


@pytest.mark.parametrize(("read", "width"), WIDTHS, ids=name)
def test_a_read_up_to_the_last_byte_is_allowed(read: Read, width: int) -> None:
    assert read(bytes(20), 20 - width, 20) == 0


@pytest.mark.parametrize(("read", "width"), WIDTHS, ids=name)
def test_a_read_never_leaves_the_packet_even_where_the_buffer_goes_on(read: Read, width: int) -> None:
    for at in range(10 - width + 1, 12):
        with pytest.raises(IndexError):
            read(bytes(20), at, 10)


@pytest.mark.parametrize(("read", "width"), WIDTHS, ids=name)
def test_a_packet_that_claims_to_go_on_behind_the_buffer_is_not_read(read: Read, width: int) -> None:
    with pytest.raises(IndexError):
        read(bytes(10), 0, 11)
    with pytest.raises(IndexError):
        read(bytes(width - 1), 0, width)


@pytest.mark.parametrize("read", [read for read, _ in WIDTHS], ids=name)
@pytest.mark.parametrize("at", [-1, -sys.maxsize, sys.maxsize, sys.maxsize - 1, sys.maxsize - 7])
def test_offsets_that_no_buffer_has_are_refused(read: Read, at: int) -> None:
    with pytest.raises(IndexError):
        read(bytes(20), at, 20)


@pytest.mark.parametrize(("read", "width"), WIDTHS, ids=name)
def test_an_end_before_the_beginning_is_refused(read: Read, width: int) -> None:
    for end in (-1, 0, width - 1):
        with pytest.raises(IndexError):
            read(bytes(20), 0, end)


LENGTH_ENCODED = [
    pytest.param(b"\x00", 1, 0, id="zero"),
    pytest.param(b"\xfa", 1, 250, id="the largest of one byte"),
    pytest.param(b"\xfc\x00\x00", 3, 0, id="zero in two bytes"),
    pytest.param(b"\xfc\xff\xff", 3, 0xFFFF, id="two bytes, all bits set"),
    pytest.param(b"\xfd\xff\xff\xff", 4, 0xFFFFFF, id="three bytes, all bits set"),
    pytest.param(b"\xfd\x01\x02\x03", 4, 0x030201, id="three bytes"),
    pytest.param(b"\xfe" + b"\xff" * 8, 9, 2**64 - 1, id="eight bytes, all bits set"),
    pytest.param(b"\xfe\x01\x02\x03\x04\x05\x06\x07\x08", 9, 0x0807060504030201, id="eight bytes"),
]


@pytest.mark.parametrize(("data", "size", "value"), LENGTH_ENCODED)
def test_a_length_encoded_integer_has_its_size_and_its_value(data: bytes, size: int, value: int) -> None:
    padded = b"\xaa" + data + b"\xbb"
    assert wire.lenenc_size(padded, 1, len(padded)) == size
    assert wire.lenenc(padded, 1, len(padded)) == value


@pytest.mark.parametrize(("data", "size", "value"), LENGTH_ENCODED)
def test_a_length_encoded_integer_that_is_cut_off_is_not_read(data: bytes, size: int, value: int) -> None:
    for end in range(1, len(data)):
        with pytest.raises(IndexError):
            wire.lenenc(data, 0, end)
        assert wire.lenenc_size(data, 0, end) == size, "the first byte tells"
    assert wire.lenenc(data, 0, len(data)) == value


@pytest.mark.parametrize("first", [0xFB, 0xFF])
def test_null_and_the_error_mark_are_no_length_encoded_integers(first: int) -> None:
    data = bytes([first]) + bytes(8)
    assert wire.lenenc_size(data, 0, 9) == 0
    assert wire.lenenc(data, 0, 9) == 0


@pytest.mark.parametrize("read", [wire.lenenc, wire.lenenc_size], ids=name)
def test_a_length_encoded_integer_needs_a_first_byte(read: Read) -> None:
    for at, end in ((0, 0), (3, 3), (-1, 3), (4, 3)):
        with pytest.raises(IndexError):
            read(bytes(3), at, end)


@pytest.mark.parametrize(("read", "width"), [(wire.checked_be16, 2), (wire.checked_be32, 4)], ids=name)
def test_what_was_checked_before_is_read_alike(read: Callable[[bytes, int], int], width: int) -> None:
    data = b"\xaa\xff\xfe\xfd\xfc"
    assert read(data, 1) == int.from_bytes(data[1 : 1 + width], "big")


@pytest.mark.parametrize(("at", "size", "end"), [(0, 5, 4), (-1, 1, 4), (4, 1, 4), (0, 1, 6), (sys.maxsize, 8, 5)])
def test_what_does_not_lie_before_the_end_is_refused_by_a_check(at: int, size: int, end: int) -> None:
    with pytest.raises(IndexError):
        wire.check(bytes(5), at, size, end)


def test_what_lies_before_the_end_passes_a_check() -> None:
    wire.check(bytes(5), 1, 4, 5)
    wire.check(bytes(5), 5, 0, 5)
