from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.archive.packing import bin_header, first_line, pack, unpack_bounded, unpack_stream

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=8) | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=5))
def test_a_stream_comes_back_value_by_value(values: list[object]) -> None:
    assert list(unpack_stream(b"".join(map(pack, values)), bin_bytes=8)) == values


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_give_values_or_a_value_error(data: bytes) -> None:
    for read in (lambda: unpack_bounded(data, bin_bytes=16), lambda: list(unpack_stream(data, bin_bytes=16))):
        with contextlib.suppress(ValueError):
            read()


@pytest.mark.parametrize(
    "data",
    [
        pack(b"x" * 17),
        pack("x" * 5000),
        b"\xdd\xff\xff\xff\xff",  # a list said to have 2**32 - 1 items
        b"\xdf\xff\xff\xff\xff",  # a map said to have as many
        b"\xc7\x01\x05x",  # an extension type
        b"\x81\x01\x02",  # a map whose key is a number
        b"\x91" * 2000 + b"\x01",  # nested too deeply
        b"\xa1\xff",  # text that is not UTF-8
        b"\x93\x01\x02",  # cut
        b"\x01\x02",  # something follows
        b"",
    ],
)
def test_what_is_over_a_bound_or_malformed_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        unpack_bounded(data, bin_bytes=16)


@pytest.mark.parametrize("cut", [pack("abc")[:2], b"\x92\xc4", b"\x92\x01", b"\xc6\x00"])
def test_a_cut_stream_is_noticed_after_its_whole_values(cut: bytes) -> None:
    values = unpack_stream(pack(1) + cut, bin_bytes=16)
    assert next(values) == 1
    with pytest.raises(ValueError, match="cut"):
        next(values)


def test_a_bin_header_is_what_msgpack_reads() -> None:
    assert unpack_bounded(bin_header(70_000) + bytes(70_000), bin_bytes=70_000) == bytes(70_000)


def test_an_error_is_told_in_one_line_whatever_it_says() -> None:
    assert first_line(ValueError("a\nb")) == "a"
    assert first_line(ValueError("")) == "ValueError"
