from __future__ import annotations

import struct

import pytest

from workers.mysql.placeholders import counts, fills
from workers.mysql.prepared import Prepared


def counted(text: bytes, codec: str = "utf_8") -> set[int]:
    return set(counts(Prepared(text, len(text)), codec))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (b"SELECT 1", 0),
        (b"INSERT INTO t VALUES (?,?, ? )", 3),
        (b"SELECT ?, '?', \"?\", `?`, 'it''s ?', \"a \"\"?\", ? FROM t WHERE a=?", 3),
        (b"SELECT ? -- and ?\n, ? # ?\n, ? /* ? */, ? /*+ ? */", 4),
        (b"SELECT 5--?", 1),
        (b"SELECT ? --", 1),
        (b"SELECT /*!50000 ?, */ ? /*M! , ? */", 3),
        (b"SELECT ?, 'never closed ?", 1),
        (b"SELECT ?, /* never closed ?", 1),
        (b"", 0),
    ],
)
def test_a_question_mark_is_a_placeholder_where_it_is_a_token(text: bytes, count: int) -> None:
    assert counted(text) == {count}


def test_a_backslash_may_be_an_escape_or_not() -> None:
    assert counted(b"SELECT '\\', ?, '") == {0, 1}
    assert counted(b"SELECT 'a\\'b', ?") == {0, 1}
    assert counted(b"SELECT 'a\\\\', ?") == {1}


def test_half_a_character_is_no_backslash_and_no_quote() -> None:
    text = "SELECT '誠', ?".encode("gbk")  # its second byte is a backslash
    assert counted(text, "gbk") == {1}
    assert counted(b"SELECT '\x81\x60', ?, '\x81\x60'", "gbk") == {1}


def test_of_a_text_that_is_not_whole_or_very_long_nothing_is_told() -> None:
    assert counts(Prepared(b"SELECT ?", 9), "utf_8") == frozenset()
    assert counts(Prepared(None, 0), "utf_8") == frozenset()
    assert counted(b"SELECT ?" + b" " * (1 << 20)) == set()


@pytest.mark.parametrize(
    ("bound", "whole"),
    [
        (b"\x01\0\0\x03\0" + struct.pack("<i", 5), True),
        (b"\x01\0\0\x03\0" + struct.pack("<i", 5) + b"\0", False),
        (b"\x01\0\0\x03\0\x05", False),
        (b"\x01\0\x01\x03\0", True),
        (b"\x01\0\0\x06\0", True),
        (b"\x01\0\0\xfd\0\xfc\x01", False),
        (b"\x09\0\xff\x01" + b"\x03\0" * 9, True),
    ],
)
def test_values_fill_their_packet_or_not(bound: bytes, whole: bool) -> None:
    assert fills(bound) is whole
