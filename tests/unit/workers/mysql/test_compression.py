"""Compressed frames come out as the bytes that went in, whatever the cuts."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from workers.mysql.compression import CompressedFraming, inflate, is_frame
from workers.mysql.framing import Allowance

TEXT = b"SELECT 'compress me, compress me, compress me, compress me'"
FORMS: dict[str, Callable[[bytes], tuple[bytes, int]]] = {
    "stored": lambda plain: (plain, 0),
    "zlib": lambda plain: (zlib.compress(plain), len(plain)),
    "zstd": lambda plain: (zstandard.compress(plain), len(plain)),
}


def frame(plain: bytes, form: str, sequence: int = 0, claimed: int | None = None) -> bytes:
    """page_protocol_basic_compression_packet."""
    body, length = FORMS[form](plain)
    length = length if claimed is None else claimed
    return len(body).to_bytes(3, "little") + bytes((sequence,)) + length.to_bytes(3, "little") + body


def opened(stream: bytes, step: int, allowance: Allowance | None = None) -> list[bytes | None]:
    """The frames of *stream*, fed *step* bytes at a time."""
    allowance = allowance or Allowance(1 << 20)
    frames = CompressedFraming(allowance)
    found: list[bytes | None] = []
    for begin in range(0, len(stream), step):
        piece = stream[begin : begin + step]
        at = 0
        while at < len(piece):
            at = frames.next(piece, at, len(piece))
            if frames.complete:
                found.append(frames.payload)
    frames.reset()
    assert allowance.used == 0, "nothing is kept"
    return found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("step", [1, 2, 3, 7, 8, 1000])
def test_frames_come_out_as_they_went_in(form: str, step: int) -> None:
    stream = frame(TEXT, form) + frame(b"\x01\0\0\0\x0e", form, 1) + frame(b"", "stored") + frame(TEXT * 100, form, 2)
    assert opened(stream, step) == [TEXT, b"\x01\0\0\0\x0e", b"", TEXT * 100]


@pytest.mark.parametrize("form", ["zlib", "zstd"])
@pytest.mark.parametrize("claimed", [1, len(TEXT) - 1, len(TEXT) + 1, 0xFFFFFF])
def test_a_frame_that_holds_something_else_than_it_says_is_not_opened(form: str, claimed: int) -> None:
    assert opened(frame(TEXT, form, claimed=claimed) + frame(TEXT, form), 1000) == [None, TEXT]


def test_a_frame_has_its_sequence_id() -> None:
    frames = CompressedFraming(Allowance(1 << 20))
    for sequence in (0, 7, 255):
        data = frame(TEXT, "zlib", sequence)
        frames.next(data, frames.next(data, 0, 3), len(data))
        assert (frames.complete, frames.sequence) == (True, sequence)


def test_a_damaged_frame_does_not_hide_the_next_one() -> None:
    damaged = bytearray(frame(TEXT * 10, "zlib"))
    damaged[20] ^= 0xFF
    assert opened(bytes(damaged) + frame(TEXT, "zlib"), 1000) == [None, TEXT]


def test_a_frame_that_there_is_no_room_for_is_passed_over() -> None:
    assert opened(frame(bytes(5000), "stored") + frame(TEXT, "stored"), 100, Allowance(1000)) == [None, TEXT]


@pytest.mark.parametrize("form", ["zlib", "zstd"])
def test_a_bomb_gives_no_more_than_its_limit(form: str) -> None:
    body, _ = FORMS[form](bytes(100 << 20))
    assert inflate(body, 4096) == bytes(4096)


@pytest.mark.parametrize("form", ["zlib", "zstd"])
def test_the_beginning_of_a_frame_gives_the_beginning_of_what_it_holds(form: str) -> None:
    plain = bytes(range(256)) * 400
    body, _ = FORMS[form](plain)
    piece = inflate(body[: len(body) // 2], 1 << 20)
    assert piece is not None
    assert plain.startswith(piece)


@pytest.mark.parametrize("form", FORMS)
def test_a_frame_is_told_by_its_beginning(form: str) -> None:
    data = b"xx" + frame(TEXT, form)
    assert is_frame(data, 2, len(data))


@pytest.mark.parametrize(
    "data",
    [b"", b"\x01\0\0\0\0\0", b"\0\0\0\0\0\0\0x", b"\x05\0\0\0\x09\0\0hello", b"\x05\0\0\0\x09\0\0\x78\x00ello"],
)
def test_other_bytes_are_no_frame(data: bytes) -> None:
    assert not is_frame(data, 0, len(data))


@given(st.binary(max_size=400), st.integers(1, 20))
def test_no_bytes_make_it_raise(data: bytes, step: int) -> None:
    opened(data, step)
    is_frame(data, 0, len(data))
    inflate(data, 100)
