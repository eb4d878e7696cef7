from __future__ import annotations

import ctypes

import pytest

from workers.memory import copy_into, cut, load, load_acquire, move, store32, store_release


def test_a_word_shared_with_the_kernel_is_read_and_written_whole() -> None:
    words = (ctypes.c_uint32 * 3)(1, 0xFFFFFFFF, 3)
    address = ctypes.addressof(words) + 4
    assert load_acquire(address) == 0xFFFFFFFF
    store_release(address, 0x80000000)
    assert list(words) == [1, 0x80000000, 3]


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_a_number_with_all_its_bits_is_read_at_any_address(size: int) -> None:
    memory = ctypes.create_string_buffer(b"\0" + b"\xff" * size + b"\0" * 8)
    assert load(ctypes.addressof(memory) + 1, size) == 256**size - 1
    assert load(ctypes.addressof(memory), 2) == int.from_bytes(b"\0\xff", "little")


def test_a_word_is_written_at_any_address_and_bytes_are_copied() -> None:
    memory = ctypes.create_string_buffer(16)
    address = ctypes.addressof(memory)
    store32(address + 1, 0xFFFFFFFE)
    move(address + 9, address + 1, 4)
    written = (0xFFFFFFFE).to_bytes(4, "little")
    assert memory.raw == b"\0" + written + bytes(4) + written + bytes(3)


def test_bytes_are_copied_over_what_was_there() -> None:
    target = bytearray(b"abcdef")
    copy_into(target, 4, b"XY")
    assert target == b"abcdXY"


@pytest.mark.parametrize(("at", "source"), [(5, b"XY"), (-1, b"X"), (7, b"")])
def test_what_has_no_room_is_not_copied(at: int, source: bytes) -> None:
    target = bytearray(b"abcdef")
    with pytest.raises(IndexError):
        copy_into(target, at, source)
    assert target == b"abcdef"


@pytest.mark.parametrize(
    ("at", "end", "expected"), [(1, 3, b"bc"), (4, 9, b"ef"), (3, 3, b""), (3, 2, b""), (-2, 6, b""), (0, -1, b"")]
)
def test_a_piece_is_what_lies_between_its_ends(at: int, end: int, expected: bytes) -> None:
    assert cut(b"abcdef", at, end) == expected
