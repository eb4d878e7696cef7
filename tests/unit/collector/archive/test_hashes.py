from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.archive.hashes import object_hash
from collector.archive.layout import ObjectError, Stanza, pack_prefix, pack_stanza

STANZAS = st.lists(st.builds(Stanza, st.integers(0, 9), st.binary(min_size=16, max_size=16), st.binary(max_size=90)),
                   min_size=1, max_size=4)  # fmt: skip


@given(st.binary(min_size=1, max_size=90), STANZAS, st.binary(max_size=90))
def test_the_hash_of_an_object_leaves_its_stanzas_out(header: bytes, stanzas: list[Stanza], rest: bytes) -> None:
    packed = b"".join(map(pack_stanza, stanzas))
    data = pack_prefix(len(stanzas), len(header)) + header + packed + rest
    assert object_hash(data) == hashlib.sha256(pack_prefix(0, len(header)) + header + rest).digest()


@pytest.mark.parametrize("cut", [0, 15, 20, 30, 60])
def test_what_ends_before_its_stanzas_do_has_no_hash(cut: int) -> None:
    data = pack_prefix(2, 10) + bytes(10) + pack_stanza(Stanza(1, bytes(16), bytes(10))) * 2
    with pytest.raises(ObjectError):
        object_hash(data[:cut])
