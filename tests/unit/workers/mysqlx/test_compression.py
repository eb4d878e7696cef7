from __future__ import annotations

import zlib
from collections import deque

import lz4.frame  # type: ignore[import-untyped]  # nobody has written its types down
import pytest
import zstandard

from tests.support import x_packets as x
from workers.mysql.errors import StreamViolation
from workers.mysql.framing import Allowance
from workers.mysqlx import phases
from workers.mysqlx.compression import MOST_INFLATED, Inflater, Tunnel
from workers.mysqlx.framing import Framing

MIB = 1 << 20
TEXT = b"SELECT '" + bytes(range(256)) * 500 + b"'"


def inflated(inflater: Inflater, payload: bytes) -> bytes:
    return b"".join(inflater.inflate(b"\xee" + payload + b"\xee", 1, 1 + len(payload)))


def lz4_frame(data: bytes, **options: object) -> bytes:
    made: bytes = lz4.frame.compress(data, **options)
    return made


@pytest.mark.parametrize("block_size", [4, 5, 6, 7])
@pytest.mark.parametrize("block_linked", [True, False])
@pytest.mark.parametrize("store_size", [True, False])
def test_a_frame_of_lz4_of_any_kind_is_read(block_size: int, block_linked: bool, store_size: bool) -> None:
    allowance = Allowance(32 * MIB)
    inflater = Inflater(b"lz4_message", allowance)
    frame = lz4_frame(
        TEXT, block_size=block_size, block_linked=block_linked, store_size=store_size, content_checksum=True
    )
    for _ in range(2):
        assert inflated(inflater, frame) == TEXT
        assert allowance.used == 0, "a message is over with its frame"


def test_the_buffers_of_a_frame_are_charged_while_it_is_read() -> None:
    frame = lz4_frame(TEXT * 100, block_size=7)
    allowance = Allowance(32 * MIB)
    inflater = Inflater(b"lz4_message", allowance)
    next(iter(inflater.inflate(frame, 0, len(frame))))
    assert 8 * MIB < allowance.used < 9 * MIB
    with pytest.raises(StreamViolation, match="no room"):
        inflated(Inflater(b"lz4_message", Allowance(8 * MIB)), frame)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda frame: frame[:-5], "not one frame"),
        (lambda frame: frame + frame, "not one frame"),
        (lambda frame: frame[:3], "not one frame|lz4_message"),
        (lambda frame: frame[:40] + b"\xff" * 9 + frame[49:], "lz4_message"),
        (lambda frame: frame[:4] + b"\xff" * 9 + frame[13:], "lz4_message"),
        (lambda frame: frame + b"x" * 70_000, "not one frame|lz4_message"),
    ],
)
def test_what_is_not_one_frame_is_refused_and_the_next_is_read(damage: object, reason: str) -> None:
    assert callable(damage)
    allowance = Allowance(32 * MIB)
    inflater = Inflater(b"lz4_message", allowance)
    with pytest.raises(StreamViolation, match=reason):
        inflated(inflater, damage(lz4_frame(TEXT, content_checksum=True)))
    assert allowance.used == 0
    assert inflated(inflater, lz4_frame(TEXT)) == TEXT


@pytest.mark.parametrize(
    ("algorithm", "bomb"),
    [
        (b"lz4_message", lz4_frame(b" " * (MOST_INFLATED + 1))),
        (b"zstd_stream", zstandard.compress(b" " * (MOST_INFLATED + 1))),
        (b"deflate_stream", zlib.compress(b" " * (MOST_INFLATED + 1))),
    ],
    ids=["lz4", "zstd", "deflate"],
)
def test_what_inflates_beyond_all_measure_is_given_up(algorithm: bytes, bomb: bytes) -> None:
    allowance = Allowance(256 * MIB)
    pieces = []

    def note(piece: bytes) -> None:
        assert allowance.used < 32 * MIB
        pieces.append(len(piece))

    with pytest.raises(StreamViolation, match="more than"):
        deque(map(note, Inflater(algorithm, allowance).inflate(bomb, 0, len(bomb))))
    assert sum(pieces) <= MOST_INFLATED
    assert max(pieces) <= 8 * MIB
    assert allowance.used == 0


@pytest.mark.parametrize("frame", [lz4_frame(TEXT), zstandard.compress(TEXT)], ids=["lz4", "zstd"])
def test_where_nothing_was_agreed_on_a_frame_tells_itself(frame: bytes) -> None:
    inflater = Inflater(None, Allowance(32 * MIB))
    assert inflated(inflater, frame) == TEXT
    inflater.give_up()
    assert inflated(inflater, frame) == TEXT


def test_behind_lost_messages_a_stream_is_read_again_where_it_begins() -> None:
    stream = zstandard.ZstdCompressor().compressobj()
    first, second = (
        stream.compress(part) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for part in (TEXT, b"more")
    )
    inflater = Inflater(b"zstd_stream", Allowance(32 * MIB))
    inflater.give_up()
    with pytest.raises(StreamViolation, match="middle of a stream"):
        inflated(inflater, second)
    assert (inflated(inflater, first), inflated(inflater, second)) == (TEXT, b"more")


def test_the_middle_of_a_deflate_stream_is_refused() -> None:
    with pytest.raises(StreamViolation, match="middle of a stream"):
        inflated(Inflater(None, Allowance(MIB)), zlib.compress(TEXT))


def through_a_tunnel(inside: bytes) -> list[int]:
    """The types of the messages in a Compression message that carries *inside*; nothing is kept behind it."""
    allowance = Allowance(32 * MIB)
    kept = dict.fromkeys(phases.CLIENT_MESSAGES, MIB)
    tunnel, framing = Tunnel(kept, allowance), Framing(kept, allowance)
    tunnel.use(b"lz4_message")
    sent = x.compression(lz4_frame(inside), len(inside))
    assert framing.next(sent, 0, len(sent)) == len(sent)
    try:
        return [each.kind for each in tunnel.messages(framing)]
    finally:
        assert allowance.used == 0


def test_messages_in_one_are_given_one_by_one() -> None:
    assert through_a_tunnel(x.query(b"DO 1") + x.find(b"c") + x.query(b"x" * 300_000)) == [12, 17, 12]


def test_a_message_that_goes_on_behind_the_one_that_carries_it_is_refused() -> None:
    with pytest.raises(StreamViolation, match="goes on"):
        through_a_tunnel(x.query(b"DO 1")[:-1])
