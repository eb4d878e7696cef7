"""A text that is cut at the limit has the SHA-256 of all of it, however it is sliced; where bytes were lost, none."""

from __future__ import annotations

import hashlib
import itertools
import random
from typing import Literal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import MAX_PACKET, Bound
from tests.support.play import C, S, Said, Step, parts, run

KEEP = 1000
ALLOWANCE = 1 << 22
LENGTHS = st.one_of(
    st.sampled_from([KEEP - 1, KEEP, KEEP + 1, KEEP + 16_383, KEEP + 16_384, KEEP + 16_385]), st.integers(1, 60_000)
)
Form = Literal["clear", "attributes", "prepared", "zlib", "zstd", "stored"]
Frames = Literal["zlib", "zstd", "stored"]
FORMS: st.SearchStrategy[Form] = st.sampled_from(["clear", "attributes", "prepared", "zlib", "zstd", "stored"])
SLOW = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NAMED = Bound(mysql.STRING, mysql.counted(b"00-ab" * 40), name=b"traceparent")
CAPABILITIES: dict[str, int] = {
    "attributes": mysql.QUERY_ATTRIBUTES,
    "zlib": mysql.COMPRESS,
    "stored": mysql.COMPRESS,
    "zstd": mysql.ZSTD,
}
SHORT = mysql.query(b"SELECT 1")


def login(form: str) -> list[Step]:
    flag = CAPABILITIES.get(form, 0)
    return [
        (S, mysql.greeting(capabilities=mysql.SERVER_CAPABILITIES | flag)),
        (C, mysql.login(capabilities=mysql.CLIENT_CAPABILITIES | flag)),
        (S, mysql.ok(sequence=2)),
    ]


def sliced(sent: bytes, cuts: list[int]) -> list[bytes]:
    bounds = [0, *sorted({cut for cut in cuts if 0 < cut < len(sent)}), len(sent)]
    return [sent[low:high] for low, high in itertools.pairwise(bounds)]


def framed(pieces: list[bytes], form: Frames) -> bytes:
    return b"".join(mysql.frame(piece, number & 0xFF, form) for number, piece in enumerate(pieces))


def told(steps: list[Step], *, keep: int = KEEP, allowance: int = ALLOWANCE) -> list[Said]:
    return run(parts(steps), True, True, keep, allowance).said[1:]


def digest_where_cut(text: bytes, kept: int = KEEP) -> bytes | None:
    return hashlib.sha256(text).digest() if len(text) > kept else None


def sent_as(form: str, text: bytes) -> bytes:
    """A command with that text; in frames it is a query."""
    if form == "attributes":
        return mysql.query_with_attributes(text, [NAMED])
    return mysql.prepare(text) if form == "prepared" else mysql.query(text)


@SLOW
@given(LENGTHS, FORMS, st.integers(0, 99), st.data())
def test_the_hash_is_that_of_the_whole_text_whatever_the_slicing(
    length: int, form: Form, seed: int, data: st.DataObject
) -> None:
    text = b"S" + random.Random(seed).randbytes(length - 1)
    sent, short = sent_as(form, text), sent_as(form, b"SELECT 1")
    cuts = st.lists(st.integers(0, len(sent)), max_size=12)
    if form != "clear" and form != "attributes" and form != "prepared":  # noqa: PLR1714  # narrows the type
        sent, short = framed(sliced(sent, data.draw(cuts)), form), mysql.frame(short, 0, form)
    pieces = sliced(sent + short, data.draw(cuts))
    said = told([*login(form), *((C, piece) for piece in pieces)])
    assert [one.text for one in said] == [text[:KEEP], b"SELECT 1"]
    assert (said[0].text_length, said[0].text_sha256) == (length, digest_where_cut(text))
    assert said[1].text_sha256 is None


@SLOW
@given(LENGTHS, st.data())
def test_where_bytes_were_lost_there_is_no_hash(length: int, data: st.DataObject) -> None:
    text = b"S" * length
    sent = mysql.query(text)
    begin = data.draw(st.integers(5, len(sent) - 1))
    end = data.draw(st.integers(begin + 1, len(sent)))
    cuts = data.draw(st.lists(st.integers(0, len(sent)), max_size=8))
    before, after = sliced(sent[:begin], cuts), sliced(sent[end:], cuts) if end < len(sent) else []
    steps: list[Step] = [*login(""), *((C, piece) for piece in before), ("gap", end - begin)]
    cut, short = told([*steps, *((C, piece) for piece in after), (C, SHORT)])
    assert (cut.text_sha256, "truncated" in cut.flags, "after_gap" in cut.flags) == (None, True, True)
    assert (short.text, short.flags, short.text_sha256) == (b"SELECT 1", frozenset(), None)


@SLOW
@given(st.integers(1, 20_000), st.integers(0, 20_000), st.lists(st.integers(0, 20_000), max_size=8))
def test_a_text_for_which_there_is_no_room_has_its_hash_or_no_text(length: int, room: int, cuts: list[int]) -> None:
    text = bytes(at % 251 for at in range(length))
    steps: list[Step] = [*login(""), *((C, piece) for piece in sliced(mysql.query(text), cuts))]
    for one in told(steps, keep=64_000, allowance=room):
        if one.text is not None:
            kept = len(one.text)
            assert (one.text, one.text_length) == (text[:kept], length)
            assert one.text_sha256 == digest_where_cut(text, kept)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from([MAX_PACKET - 2, MAX_PACKET - 1, MAX_PACKET, MAX_PACKET + 5, 2 * MAX_PACKET - 1]),
    st.sampled_from([KEEP, 1 << 20, 16 << 20]),
    st.integers(1 << 16, 1 << 24),
)
def test_texts_of_several_packets_are_hashed_across_them(length: int, keep: int, step: int) -> None:
    text = (bytes(range(251)) * (length // 251 + 1))[:length]
    sent = mysql.query(text) + SHORT
    steps: list[Step] = [*login(""), *((C, sent[at : at + step]) for at in range(0, len(sent), step))]
    long, short = told(steps, keep=keep, allowance=keep * 3 + (1 << 20))
    assert (long.text, long.text_length, short.text) == (text[:keep], length, b"SELECT 1")
    assert long.text_sha256 == digest_where_cut(text, keep)
