from __future__ import annotations

import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.aggregator.compress import Compressor
from collector.archive.packing import unpack_stream


def blocks_of(frames: list[bytes]) -> list[list[bytes]]:
    return [
        pair
        for frame in frames
        for pair in unpack_stream(zstandard.ZstdDecompressor().decompress(frame), bin_bytes=1 << 24)
    ]


@settings(max_examples=50)
@given(st.lists(st.tuples(st.binary(max_size=20), st.binary(max_size=3000)), max_size=20))
def test_every_block_comes_back_once_and_in_order(blocks: list[tuple[bytes, bytes]]) -> None:
    compressor = Compressor(1, gather_bytes=4096)
    for head, body in blocks:
        compressor.add(head, body)
    assert blocks_of(compressor.take()) == [list(block) for block in blocks]
    assert compressor.take() == []


def test_small_blocks_are_compressed_together() -> None:
    compressor = Compressor(1)
    for number in range(100):
        compressor.add(b"head", b"SELECT %d" % number)
    assert compressor.groups == 0
    assert len(compressor.take()) == 1


def test_a_frame_says_how_much_it_holds() -> None:
    compressor = Compressor(1)
    compressor.add(b"head", bytes(5000))
    held = compressor.content_bytes
    assert zstandard.frame_content_size(compressor.take()[0]) == held > 5000


def test_gathering_stops_at_the_size_that_pays() -> None:
    compressor = Compressor(1, gather_bytes=1000)
    for _ in range(10):
        compressor.add(b"", bytes(400))
    assert compressor.groups >= 4
    assert compressor.size < 1000 + 400


def test_another_level_is_that_of_later_frames_and_loses_nothing() -> None:
    compressor = Compressor(1, gather_bytes=1000)
    blocks = [(b"head", b"SELECT %d FROM t WHERE a = %d" % (at, at * at)) for at in range(200)]
    sizes = []
    for level in (1, 19):
        compressor.set_level(level)
        for head, body in blocks:
            compressor.add(head, body)
        frames = compressor.take()
        assert blocks_of(frames) == [list(block) for block in blocks]
        sizes.append(sum(map(len, frames)))
    assert sizes[1] < sizes[0]
