from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from collector.capture.rings import frames_waiting, waiting

KERNEL, USER, TIMED_OUT = 0, 1, 0x20
BLOCK_BYTES = 64


def ring(*blocks: tuple[int, int, int]) -> bytes:
    """Blocks of a status, a number of packets and a sequence number."""
    return b"".join(
        struct.pack("=6IQ", 1, 0, status, packets, 48, 0, sequence).ljust(BLOCK_BYTES, b"\0")
        for status, packets, sequence in blocks
    )


def count(*blocks: tuple[int, int, int]) -> int:
    return waiting(ring(*blocks), BLOCK_BYTES, len(blocks))


def test_an_untouched_ring_holds_nothing() -> None:
    assert count((KERNEL, 0, 1), (KERNEL, 0, 0), (KERNEL, 0, 0)) == 0


def test_ready_blocks_and_the_one_being_filled_count_and_those_given_back_do_not() -> None:
    assert count((KERNEL, 100, 1), (USER, 10, 2), (USER | TIMED_OUT, 20, 3), (KERNEL, 5, 4)) == 35


def test_the_block_being_filled_is_found_after_the_ring_has_gone_round() -> None:
    assert count((USER, 10, 5), (KERNEL, 7, 6), (KERNEL, 100, 3), (KERNEL, 100, 4)) == 17


@given(st.binary(min_size=4 * BLOCK_BYTES, max_size=4 * BLOCK_BYTES))
def test_whatever_a_worker_wrote_into_its_ring_a_number_comes_of_it(written: bytes) -> None:
    assert 0 <= waiting(written, BLOCK_BYTES, 4) <= 5 * (2**32 - 1)


def test_a_full_ring_counts_each_block_once() -> None:
    assert count((USER, 1, 3), (USER, 2, 4), (USER, 4, 2)) == 7


def test_frames_that_wait_are_those_whose_status_says_so() -> None:
    block = b"".join(struct.pack("=I", status).ljust(24, b"\xff") for status in (1, 0, 1 | 1 << 4, 4))
    assert frames_waiting(block.ljust(100, b"\xff") * 2, 100, 24) == 4
