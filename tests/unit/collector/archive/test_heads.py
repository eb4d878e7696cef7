from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.archive import heads
from collector.archive.layout import MAX_BODY_BYTES
from collector.archive.packing import pack
from tests.unit.collector.aggregator.making import head_bytes
from workers.records import MOST_ROWS


def test_a_head_is_read_field_by_field() -> None:
    read = heads.read_head(head_bytes(worker=3, sequence=9, statements=5, after={"a": 1}, final=True), 100)
    assert (read.worker, read.sequence, read.statements, read.after, read.final) == (3, 9, 5, {"a": 1}, True)


def test_the_clock_of_a_head_may_be_behind_and_need_not_be_told() -> None:
    assert heads.read_head(head_bytes(), 0).clock_ns == 0
    for ahead_ns in (-(1 << 63), -5, (1 << 63) - 1):
        assert heads.read_head(head_bytes(clock_ns=ahead_ns), 0).clock_ns == ahead_ns


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xc1", "not msgpack"),
        (pack([1]), "not a map"),
        (head_bytes(format=2), "format 1"),
        (head_bytes(worker=64), "worker is not a number from 0 to 63"),
        (head_bytes(worker=True), "worker"),
        (head_bytes(sequence="1"), "sequence"),
        (head_bytes(first_ns=2, last_ns=1), "before first_ns"),
        (head_bytes(clock_ns=1 << 63), "clock_ns is not a number of 64 bits"),
        (head_bytes(clock_ns=True), "clock_ns"),
        (head_bytes(clock_ns=0.5), "clock_ns"),
        (head_bytes(statements=-1), "statements"),
        (head_bytes(before=[]), "before is not a map"),
        (head_bytes(after={"x" * 49: 1}), "proper name"),
        (head_bytes(after={"a\n\x1b[2J": -1}), "proper name$"),
        (head_bytes(after={"\u00e9": 1}), "proper name"),
        (head_bytes(statements=MOST_ROWS + 1), "statements is not a number from 0 to 262144"),
        (head_bytes(after={f"n{number}": 1 for number in range(129)}), "at most 128"),
        (head_bytes(after={"a": -1}), "a is not a number"),
        (head_bytes(before={"a": 2}, after={"a": 1}), "falls"),
        (head_bytes(summary=5), "summary is not a map"),
        (head_bytes(summary={str(n): "x" * 4000 for n in range(20)}), "a summary of"),
        (head_bytes(final=1), "final"),
        (b"\x81" + pack("a") * 1 + b"\xc6\x00\x04\x00\x00" + bytes(256 << 10), "a head of"),
    ],
)
def test_a_malformed_head_is_refused_with_the_reason(data: bytes, message: str) -> None:
    with pytest.raises(heads.HeadError, match=message):
        heads.read_head(data, 0)


def test_a_head_may_say_as_many_statements_as_a_body_may_hold() -> None:
    assert heads.read_head(head_bytes(statements=MOST_ROWS), 0).statements == MOST_ROWS


def test_a_body_over_the_limit_is_refused() -> None:
    with pytest.raises(heads.HeadError, match="a body of"):
        heads.read_head(head_bytes(), MAX_BODY_BYTES + 1)


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_raise_nothing_but_a_head_error(data: bytes) -> None:
    with pytest.raises(heads.HeadError):
        heads.read_head(data, 0)


@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=3))
def test_a_damaged_head_raises_nothing_but_a_head_error(at: int, put: bytes) -> None:
    whole = head_bytes(before={"a": 1}, after={"a": 3}, summary={"errors": 2})
    at %= len(whole)
    with contextlib.suppress(heads.HeadError):
        heads.read_head(whole[:at] + put + whole[at + len(put) :], 0)
