"""Masked text has a question mark for each literal, and everything else as it was."""

from __future__ import annotations

import pytest

from workers.sql.fingerprint import fingerprint
from workers.sql.mask import masked
from workers.sql.tokens import ESCAPES, NO_ESCAPES, UNKNOWN, tokens

SHOWN = [
    (b"SELECT a FROM t", b"SELECT a FROM t"),
    (b"SELECT 'it''s', \"q\", N'n', x'41', 0x41, b'01', 0b01", b"SELECT ?, ?, ?, ?, ?, ?, ?"),
    (b"SELECT 1e5, .5, -1, 1., t1, 1abc, t.1", b"SELECT ?, ?, -?, ?, t1, 1abc, t.1"),
    (b"SELECT DATE '2020-01-02', {d '2020-01-02'}, TIMESTAMP'x'", b"SELECT DATE ?, {d ?}, TIMESTAMP?"),
    (b"SELECT _utf8mb4'x', _latin1 0x41, 'x' COLLATE c", b"SELECT _utf8mb4?, _latin1 ?, ? COLLATE c"),
    (b"SELECT 'a' 'b'\n\"c\", 'd'", b"SELECT ?, ?"),
    (b"SELECT NULL, TRUE, @v, @@w, ?", b"SELECT NULL, TRUE, @v, @@w, ?"),
    (b"a /* 'x' 1 */ b -- 'x'\nc # 1\nd", b"a /**/ b -- \nc #\nd"),
    (b"/*!50000 SELECT 1 */ /*M!100100 'x' */", b"/*!50000 SELECT ? */ /*M!100100 ? */"),
    (b"SELECT /*+ MAX_EXECUTION_TIME(100) */ 1", b"SELECT /*+ MAX_EXECUTION_TIME(?) */ ?"),
    (b"LOAD DATA LOCAL INFILE '/home/x' INTO TABLE t", b"LOAD DATA LOCAL INFILE ? INTO TABLE t"),
    (b"SELECT 'unfinished", b"SELECT ?"),
    (b"SELECT 12", b"SELECT ?"),
    (b"a /* unfinished", b"a /**/"),
    (b"USE `a``1`", b"USE `a``1`"),
    (b"GRANT ALL ON a.* TO 'u'@'h'", b"GRANT ALL ON a.* TO ?@?"),
    (b"", b""),
]


@pytest.mark.parametrize(("text", "shown"), SHOWN)
def test_a_masked_text_shows_this(text: bytes, shown: bytes) -> None:
    for escapes in (UNKNOWN, ESCAPES, NO_ESCAPES):
        assert masked(tokens(text, escapes, "utf8mb4")) == shown
        assert masked(tokens(shown, escapes, "utf8mb4")) == shown


@pytest.mark.parametrize("text", [text for text, _ in SHOWN if b"/*" not in text])
def test_its_shape_is_that_of_what_was_sent(text: bytes) -> None:
    assert fingerprint(masked(tokens(text, ESCAPES, "utf8mb4"))) == fingerprint(text)


def test_all_behind_the_first_difference_of_two_readings_is_one_literal() -> None:
    text = b"SELECT 1, 'it\\'s', name FROM t WHERE a = 'x'"
    assert masked(tokens(text, UNKNOWN, None)) == b"SELECT ?, ?"
    assert masked(tokens(text, ESCAPES, None)) == b"SELECT ?, ?, name FROM t WHERE a = ?"


def test_a_text_without_literals_is_not_copied() -> None:
    text = b"SELECT a FROM t WHERE b = ?"
    assert masked(tokens(text, UNKNOWN, None)) is text
