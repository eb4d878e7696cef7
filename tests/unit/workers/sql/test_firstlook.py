"""The first look finds each word wherever it stands, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.sql.firstlook import WORDS, may_hold_password


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_found_at_every_place_and_in_any_case(word: bytes) -> None:
    for form in (word, word.upper(), word.title()):
        for before in range(12):
            for after in range(3):
                assert may_hold_password(b"p" * before + form + b"x" * after)
        assert not may_hold_password(form[:-1])


@given(st.lists(st.one_of(st.sampled_from([w[:6] for w in WORDS] + list(WORDS)), st.binary(max_size=6)), max_size=8))
def test_it_finds_what_a_search_for_each_word_finds(pieces: list[bytes]) -> None:
    text = b"".join(pieces)
    assert may_hold_password(text) == any(word in text.lower() for word in WORDS)
