from __future__ import annotations

import io
import secrets

from collector.aggregator.seal import seal, split
from collector.archive import layout
from collector.reading.keys import ReaderKey
from collector.reading.objects import open_object
from tests.unit.collector.aggregator.making import OTHER_RAW, READER_PUBLIC_RAW, READER_RAW, SIGNING_KEY, header, sealed


def test_each_recipient_can_open_what_is_sealed_for_all_of_them() -> None:
    keys = [ReaderKey(READER_RAW), ReaderKey(OTHER_RAW)]
    data = sealed([[(b"head", b"body")]], recipients=[key.public_raw for key in keys])
    for key in keys:
        contents = list(open_object(io.BytesIO(data), [key]).contents(_never))
        assert [content.kind for content in contents] == [layout.KIND_SUMMARY, layout.KIND_BLOCKS]


def test_two_seals_of_the_same_batch_have_no_bytes_of_content_in_common() -> None:
    one, other = (sealed([[(b"head", bytes(500))]]) for _ in range(2))
    sizes = open_object(io.BytesIO(one), [ReaderKey(READER_RAW)]).header.frames
    end = len(one) - layout.SIGNATURE_BYTES
    start = end - sum(sizes)
    assert one[start:end] != other[start:end]
    assert one[: layout.PREFIX.size] == other[: layout.PREFIX.size]


def test_no_frame_holds_more_than_the_limit_and_none_of_a_large_block_is_lost() -> None:
    large = secrets.token_bytes(2 * layout.MAX_FRAME_BYTES + 5)
    frames = split(layout.KIND_BLOCKS, large)
    assert [len(frame) for frame in frames] == [layout.MAX_FRAME_BYTES, layout.MAX_FRAME_BYTES, 8]
    assert b"".join(frame[1:] for frame in frames) == large
    marks = [frame[0] & ~layout.KIND_MASK for frame in frames]
    both = layout.KIND_CONTINUES | layout.KIND_FOLLOWS
    assert marks == [layout.KIND_CONTINUES, both, layout.KIND_FOLLOWS]


def test_the_clear_part_holds_no_content() -> None:
    data = seal(header(), [(layout.KIND_SUMMARY, b"SECRET" * 50)], [READER_PUBLIC_RAW], SIGNING_KEY)
    assert b"SECRET" not in data


def _never(problem: str) -> None:
    raise AssertionError(problem)
