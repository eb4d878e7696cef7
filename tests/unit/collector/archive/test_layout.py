from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.archive import layout
from collector.archive.packing import pack
from tests.unit.collector.aggregator.making import header


def test_a_header_comes_back_as_it_was_written() -> None:
    made = header(frames=(17, 1000), last_ns=2**64 - 1)
    assert layout.unpack_header(layout.pack_header(made)) == made


def test_a_header_with_fields_of_a_later_version_is_read() -> None:
    fields = {name: getattr(header(), name) for name in layout.Header.__slots__ if name != "frames"} | {
        "frames": b"\x20\0\0\0",
        "colour": "green",
    }
    assert layout.unpack_header(pack(fields)).frames == (32,)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"instance": "AB"}, "instance"),
        ({"public_key": b"short"}, "public_key"),
        ({"sequence": -1}, "sequence"),
        ({"previous": bytes(31)}, "previous"),
        ({"frames": ()}, "frames"),
        ({"frames": (16,)}, "frame 0 of 16 bytes"),
        ({"frames": (17, layout.MAX_SEALED_BYTES + 1)}, "frame 1 of 1048593 bytes"),
        ({"first_ns": 5, "last_ns": 4}, "time span"),
        ({"host": 5}, "host"),
        ({"ledger": []}, "ledger"),
    ],
)
def test_a_header_with_a_wrong_field_is_refused_by_name(changes: dict[str, object], named: str) -> None:
    packed = layout.pack_header(header(**{"frames": (17,), **changes}))
    with pytest.raises(layout.ObjectError, match=named):
        layout.unpack_header(packed)


def test_a_header_over_the_limit_is_not_written() -> None:
    with pytest.raises(ValueError, match="limit"):
        layout.pack_header(header(host="x" * layout.MAX_HEADER_BYTES))


@pytest.mark.parametrize(
    ("prefix", "message"),
    [
        (b"PK\x03\x04" + bytes(12), "not a querytap object"),
        (b"", "not a querytap object"),
        (layout.pack_prefix(1, 100)[:12], "truncated"),
        (layout.PREFIX.pack(layout.MAGIC, 2, 1, 100), "written in format 2, this querytap reads up to format 1"),
        (layout.PREFIX.pack(layout.MAGIC, 0, 1, 100), "format version 0"),
        (layout.PREFIX.pack(layout.MAGIC, 1, 0, 100), "0 stanzas"),
        (layout.PREFIX.pack(layout.MAGIC, 1, 65, 100), "65 stanzas"),
        (layout.PREFIX.pack(layout.MAGIC, 1, 1, 2**20 + 1), "limit is 1048576"),
    ],
)
def test_a_prefix_that_is_not_ours_is_refused_with_the_reason(prefix: bytes, message: str) -> None:
    with pytest.raises(layout.ObjectError, match=message):
        layout.unpack_prefix(prefix)


@given(st.binary(max_size=300))
def test_reading_a_header_raises_nothing_but_its_own_error(data: bytes) -> None:
    with contextlib.suppress(layout.ObjectError):
        layout.unpack_header(data)


def test_nonces_of_an_object_differ() -> None:
    made = {layout.nonce(number, last=last) for number in range(300) for last in (False, True)}
    assert len(made) == 600
    assert {len(nonce) for nonce in made} == {12}
