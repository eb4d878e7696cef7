from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.archive.keyfile import PUBLIC, READER_PRIVATE, READER_PUBLIC, KeyFileError, read_keys, write_key

KEY = bytes(range(32))


@given(st.binary(min_size=32, max_size=32))
def test_a_key_comes_back_as_it_was_written(key: bytes) -> None:
    assert read_keys(write_key(READER_PUBLIC, key), PUBLIC, "f") == [key]


def test_a_file_may_hold_comments_and_more_than_one_key() -> None:
    other = bytes(32)
    text = f"# audit\n\n{write_key(READER_PUBLIC, KEY)}\n  {write_key(READER_PUBLIC, other)}  \r\n"
    assert read_keys(text, PUBLIC, "f") == [KEY, other]


@given(st.data())
def test_a_mistyped_character_is_noticed(data: st.DataObject) -> None:
    line = write_key(READER_PUBLIC, KEY)
    at = data.draw(st.integers(0, len(line) - 1))
    character = data.draw(st.characters(min_codepoint=33, max_codepoint=126).filter(lambda c: c != line[at]))
    with pytest.raises(KeyFileError):
        read_keys(line[:at] + character + line[at + 1 :], PUBLIC, "f")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f: holds no key"),
        ("# only a comment\n", "f: holds no key"),
        ("ssh-ed25519 AAAA", "f:1: not a querytap key"),
        ("\n" + write_key(READER_PRIVATE, KEY), "f:2: this is a querytap-private-x25519 key"),
        (f"{READER_PUBLIC}:!!!", "not base64"),
        (f"{READER_PUBLIC}:{base64.b64encode(KEY).decode()}", "damaged or mistyped"),
    ],
)
def test_a_wrong_key_file_is_refused_with_place_and_reason(text: str, message: str) -> None:
    with pytest.raises(KeyFileError, match=message):
        read_keys(text, PUBLIC, "f")


def test_a_message_never_shows_the_key() -> None:
    line = write_key(READER_PRIVATE, KEY)
    with pytest.raises(KeyFileError) as caught:
        read_keys(line, PUBLIC, "f")
    assert line.partition(":")[2] not in str(caught.value)
