from __future__ import annotations

import dataclasses
import io
import secrets
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.aggregator.compress import Compressor
from collector.aggregator.seal import seal
from collector.archive import layout
from collector.archive.hashes import object_hash
from collector.archive.layout import KIND_BLOCKS, KIND_SUMMARY
from collector.archive.stanzas import wrap
from collector.reading.keys import ReaderKey
from collector.reading.objects import ObjectError, open_object, read_header
from tests.unit.collector.aggregator.making import (
    OTHER_RAW,
    READER_PUBLIC_RAW,
    READER_RAW,
    SIGNING_KEY,
    header,
    sealed,
)

KEY = ReaderKey(READER_RAW)
BODIES = [b"first body " * 20, b"second body " * 20, b"third body " * 20]
WHOLE = sealed([[(b"head", body)] for body in BODIES])


def read(data: bytes, key: ReaderKey = KEY) -> tuple[list[bytes], list[str]]:
    """Contents and problems of an object; an object that is refused has one problem."""
    problems: list[str] = []
    contents: list[bytes] = []
    try:
        contents += [content.data for content in open_object(io.BytesIO(data), [key]).contents(problems.append)]
    except ObjectError as error:
        problems.append(str(error))
    return contents, problems


CONTENTS = read(WHOLE)[0]
HEADER = open_object(io.BytesIO(WHOLE), [KEY]).header
FRAMES = HEADER.frames
FIRST_FRAME = len(WHOLE) - layout.SIGNATURE_BYTES - sum(FRAMES)


def frame_at(offset: int) -> int | None:
    """The number of the frame that has the byte at *offset*."""
    at = FIRST_FRAME
    for number, length in enumerate(FRAMES):
        if at <= offset < at + length:
            return number
        at += length
    return None


def test_a_whole_object_is_read_without_a_problem() -> None:
    contents, problems = read(WHOLE)
    assert problems == []
    assert len(contents) == 4
    assert all(body in content for body, content in zip(BODIES, contents[1:], strict=True))


@settings(max_examples=400)
@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed_changes_no_content_and_costs_its_frame_alone(offset: int, change: int) -> None:
    damaged = bytearray(WHOLE)
    damaged[offset] ^= change
    contents, problems = read(bytes(damaged))
    assert problems
    number = frame_at(offset)
    if number is not None:
        assert contents == CONTENTS[:number] + CONTENTS[number + 1 :]
        assert problems == [f"frame {number} of 4 is damaged: what it holds is lost"]
    elif offset < FIRST_FRAME:
        assert contents == []
    else:
        assert contents == CONTENTS


@settings(max_examples=200)
@given(st.integers(0, len(WHOLE) - 1))
def test_a_cut_object_gives_the_frames_before_the_cut_and_says_where_it_is_cut(size: int) -> None:
    contents, problems = read(WHOLE[:size])
    assert contents == CONTENTS[: len(contents)]
    assert len(contents) == (0 if size < FIRST_FRAME else frame_at(size) if frame_at(size) is not None else 4)
    (problem,) = problems
    assert "truncated" in problem or problem == "not a querytap object"


@given(st.binary(max_size=400))
def test_bytes_of_any_kind_are_refused_with_one_line(data: bytes) -> None:
    contents, problems = read(data)
    assert contents == []
    assert len(problems) == 1
    assert "\n" not in problems[0]


@settings(max_examples=200)
@given(st.integers(0, len(WHOLE)), st.binary(max_size=60), st.integers(0, 60))
def test_whatever_is_overwritten_no_content_is_altered(offset: int, put: bytes, drop: int) -> None:
    changed = WHOLE[:offset] + put + WHOLE[offset + drop :]
    contents, problems = read(changed)
    assert all(content in CONTENTS for content in contents)
    assert bool(problems) == (changed != WHOLE)


def test_frames_that_change_places_are_noticed() -> None:
    first, second = FIRST_FRAME + FRAMES[0], FIRST_FRAME + FRAMES[0] + FRAMES[1]
    assert FRAMES[1] == FRAMES[2] - 1 or FRAMES[1] == FRAMES[2] or FRAMES[1] == FRAMES[2] + 1
    end = second + FRAMES[2]
    contents, problems = read(WHOLE[:first] + WHOLE[second:end] + WHOLE[first:second] + WHOLE[end:])
    assert contents == [CONTENTS[0], CONTENTS[3]]
    assert problems == ["frames 1 to 2 of 4 are damaged: what they hold is lost"]


def test_the_header_of_another_object_does_not_open_these_frames() -> None:
    other = sealed([[(b"head", body)] for body in BODIES])
    contents, problems = read(other[:FIRST_FRAME] + WHOLE[FIRST_FRAME:])
    assert contents == []
    assert problems == ["none of its 4 frames opens: its header is that of another object"]


def test_a_header_swapped_without_its_stanzas_is_refused() -> None:
    other = sealed([[(b"head", body)] for body in BODIES], header(sequence=2))
    end = layout.PREFIX.size + layout.unpack_prefix(WHOLE[: layout.PREFIX.size])[1]
    contents, problems = read(other[:end] + WHOLE[end:])
    assert contents == []
    assert problems == ["its header is damaged, swapped or forged: the header signature does not fit"]


def test_a_wrong_key_is_named_beside_the_right_one() -> None:
    other = ReaderKey(OTHER_RAW)
    contents, problems = read(WHOLE, other)
    assert contents == []
    assert problems == [
        f"not sealed for this key: it is sealed for {KEY.recipient.hex()[:8]}, the key is {other.recipient.hex()[:8]}"
    ]


def test_an_object_signed_with_another_key_is_not_of_this_instance() -> None:
    forged = seal(header(public_key=bytes(32)), [(KIND_SUMMARY, b"")], [READER_PUBLIC_RAW], SIGNING_KEY)
    assert read(forged) == ([], ["its header is damaged or forged: the instance is not that of its key"])


def test_a_newer_format_is_named() -> None:
    newer = layout.MAGIC + b"\x02\x00" + WHOLE[10:]
    assert read(newer) == ([], ["written in format 2, this querytap reads up to format 1"])


def test_bytes_after_the_end_are_noticed() -> None:
    assert read(WHOLE + b"x") == (CONTENTS, ["bytes follow its end"])


def test_the_header_is_read_without_a_key() -> None:
    assert read_header(io.BytesIO(WHOLE)) == dataclasses.replace(
        header(), frames=FRAMES, content_key_hash=HEADER.content_key_hash
    )


def test_a_large_block_that_loses_a_frame_is_lost_alone() -> None:
    large = secrets.token_bytes(3 * layout.MAX_FRAME_BYTES)
    data = bytearray(sealed([[(b"head", BODIES[0])], [(b"head", large)], [(b"head", BODIES[2])]]))
    sizes = open_object(io.BytesIO(data), [KEY]).header.frames
    assert len(sizes) == 7
    data[len(data) - layout.SIGNATURE_BYTES - sizes[6] - sizes[5] - sizes[4] - 1] ^= 1  # the end of frame 3
    contents, problems = read(bytes(data))
    assert [len(content) < 1000 for content in contents] == [True, True, True]
    assert sorted(problems) == [
        "frame 3 of 7 is damaged: what it holds is lost",
        "frame 4 is lost with one before: it holds a part of the same block",
        "frame 5 is lost with one before: it holds a part of the same block",
        "frames 2 to 2 are lost with it: they hold parts of one block",
    ]


def test_a_large_block_comes_back_whole() -> None:
    large = secrets.token_bytes(3 * layout.MAX_FRAME_BYTES)
    contents, problems = read(sealed([[(b"head", large)]]))
    assert large in contents[1]
    assert problems == []


@pytest.mark.parametrize("group", [b"", b"no zstd", Compressor(1).compress(b"x" * 100)[:-3]])
def test_a_frame_that_does_not_decompress_is_reported_and_passed_over(group: bytes) -> None:
    compressor = Compressor(1)
    groups = [(KIND_SUMMARY, compressor.compress(b"s")), (KIND_BLOCKS, group), (KIND_BLOCKS, compressor.compress(b"b"))]
    contents, problems = read(seal(header(), groups, [READER_PUBLIC_RAW], SIGNING_KEY))
    assert contents == [b"s", b"b"]
    assert len(problems) == 1
    assert problems[0].startswith("frame 1 ")


def test_a_frame_that_would_fill_the_memory_is_not_decompressed() -> None:
    bomb = Compressor(1).compress(bytes(layout.MAX_CONTENT_BYTES + 1))
    data = seal(header(), [(KIND_BLOCKS, bomb)], [READER_PUBLIC_RAW], SIGNING_KEY)
    tracemalloc.start()
    contents, problems = read(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert contents == []
    assert "the limit is" in problems[0]
    assert peak < 16 << 20


def test_a_kind_of_frame_that_is_not_known_is_passed_over() -> None:
    compressor = Compressor(1)
    groups = [(KIND_SUMMARY, compressor.compress(b"s")), (9, b"whatever"), (KIND_BLOCKS, compressor.compress(b"b"))]
    assert read(seal(header(), groups, [READER_PUBLIC_RAW], SIGNING_KEY)) == ([b"s", b"b"], [])


def with_stanzas(data: bytes, *stanzas: layout.Stanza) -> bytes:
    """*data* with other stanzas than it was sealed with, and nothing else changed."""
    header_bytes = layout.unpack_prefix(data[: layout.PREFIX.size])[1]
    end = layout.PREFIX.size + header_bytes
    sealed_with = len(layout.pack_stanza(wrap(bytes(32), READER_PUBLIC_RAW, bytes(32))))
    packed = b"".join(map(layout.pack_stanza, stanzas))
    return (
        layout.pack_prefix(len(stanzas), header_bytes)
        + data[layout.PREFIX.size : end]
        + packed
        + data[end + sealed_with :]
    )


def test_another_recipient_needs_another_stanza_and_no_other_signature() -> None:
    other = ReaderKey(OTHER_RAW)
    opened = open_object(io.BytesIO(WHOLE), [KEY])
    bound, content_key = opened.clear.bound, opened.content_key
    both = with_stanzas(WHOLE, wrap(content_key, READER_PUBLIC_RAW, bound), wrap(content_key, other.public_raw, bound))
    assert read(both) == read(both, other) == (CONTENTS, [])
    assert object_hash(both) == object_hash(WHOLE)


def test_a_stanza_with_another_content_key_is_refused() -> None:
    bound = open_object(io.BytesIO(WHOLE), [KEY]).clear.bound
    forged = with_stanzas(WHOLE, wrap(bytes(32), READER_PUBLIC_RAW, bound))
    assert read(forged) == ([], ["its stanza for this key has another content key than was signed: forged"])


def test_a_content_key_of_another_length_is_refused_though_it_was_signed() -> None:
    bound = open_object(io.BytesIO(WHOLE), [KEY]).clear.bound
    forged = with_stanzas(WHOLE, wrap(bytes(31), READER_PUBLIC_RAW, bound))
    assert read(forged) == ([], ["its content key has 31 bytes instead of 32"])
