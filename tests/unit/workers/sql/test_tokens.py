"""Text falls into the tokens that the servers' lexers see, and is UNSURE from where they may differ."""

from __future__ import annotations

import pytest

from workers.sql.tokens import (
    COMMENT,
    END,
    ESCAPES,
    NAME,
    NO_ESCAPES,
    NUMBER,
    SIGN,
    STRING,
    UNKNOWN,
    UNSURE,
    WORD,
    tokens,
)


def read(text: bytes, escapes: int = ESCAPES, charset: str | None = "utf8mb4") -> list[tuple[int, bytes]]:
    """The kinds and texts of the tokens."""
    walk = tokens(text, escapes, charset)
    found = []
    while walk.next() != END:
        found.append((walk.kind, text[walk.begin : walk.end]))
    assert (walk.kind, walk.next()) == (END, END)
    return found


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *((text, NUMBER) for text in (b"0", b"12", b"1.", b"1.5", b".5", b"1e5", b"1E+5", b".5e-3", b"1.e2")),
        *((text, NUMBER) for text in (b"0x41", b"0xAf", b"0X41", b"0b01", b"0B1")),
        *((text, WORD) for text in (b"t1", b"1abc", b"0x4G", b"0x", b"0b12", b"1e", b"_utf8", b"$a", b"a$1", b"\xc3")),
        *((text, WORD) for text in (b"\xc3\xa91", b"@v", b"@1", b"@a.5", b"@@x", b"@@global.x1", b"@$_.z")),
        *((text, STRING) for text in (b"'a'", b"''", b"'a''b'", b"'a\\'b'", b'"a"', b'"a""b"', b'"a\'b"', b"'a")),
        *((text, STRING) for text in (b"x'41'", b"X'41'", b"b'01'", b"B'0'", b"n'a'", b"N'a'", b"'\n\0'")),
        *((text, NAME) for text in (b"`a`", b"`a``b`", b"`a\\`", b"`'`", b"`a")),
        *((text, COMMENT) for text in (b"/* a 'b */", b"/**/", b"/* a", b"# a'", b"-- a'", b"--", b"--\t", b"--\x01x")),
        *((text, SIGN) for text in (b"?", b"(", b";", b".", b"@", b"\\", b"\0", b"-")),
        *((text, SIGN) for text in (b"/*!", b"/*!50000", b"/*!100100", b"/*M!", b"/*M!100100", b"/*+")),
    ],
)
def test_this_is_one_token(text: bytes, kind: int) -> None:
    assert read(text) == [(kind, text)]
    assert read(b" " + text)[0] == (kind, text)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        (b"SELECT'a'FROM t", [b"SELECT", b"'a'", b"FROM", b"t"]),
        (b"t.1", [b"t", b".", b"1"]),
        (b"1e5abc", [b"1e5", b"abc"]),
        (b"1..5", [b"1.", b".5"]),
        (b"a--1", [b"a", b"-", b"-", b"1"]),
        (b"a-- 1\n2", [b"a", b"-- 1", b"2"]),
        (b"x 'a'", [b"x", b"'a'"]),
        (b"xx'a'", [b"xx", b"'a'"]),
        (b"_latin1'a' \"b\"", [b"_latin1", b"'a'", b'"b"']),
        (b"/*!5000 1*/", [b"/*!", b"5000", b"1", b"*", b"/"]),
        (b"/*!500001234*/", [b"/*!500001", b"234", b"*", b"/"]),
        (b"/*! a /* b */ c */ 'd'", [b"/*!", b"a", b"/* b */", b"c", b"*", b"/", b"'d'"]),
        (b"@'a'@b.c@`d`", [b"@", b"'a'", b"@b.c", b"@", b"`d`"]),
    ],
)
def test_text_falls_apart_here(text: bytes, pieces: list[bytes]) -> None:
    assert [piece for _, piece in read(text)] == pieces


def test_a_digit_behind_the_point_of_a_name_belongs_to_a_name() -> None:
    assert [kind for kind, _ in read(b"t.1 t .1 `t`.1")] == [WORD, SIGN, WORD, WORD, NUMBER, NAME, NUMBER]


@pytest.mark.parametrize(("text", "rest"), [(b"a 'b\\' c", b"'b\\' c"), (b"a 'b\\' c'", b"'b\\' c'")])
def test_text_is_unsure_where_backslashes_may_escape_or_not(text: bytes, rest: bytes) -> None:
    assert read(text, UNKNOWN) == [(WORD, b"a"), (UNSURE, rest)]
    assert UNSURE not in dict(read(text, ESCAPES))
    assert UNSURE not in dict(read(text, NO_ESCAPES))


def test_what_is_the_same_in_all_readings_is_sure() -> None:
    assert read(b"'C:\\\\x' 'a\\n' 1", UNKNOWN) == [(STRING, b"'C:\\\\x'"), (STRING, b"'a\\n'"), (NUMBER, b"1")]


def test_double_quotes_may_enclose_names_in_which_nothing_escapes() -> None:
    assert read(b'"a\\" 1 "', ESCAPES) == [(UNSURE, b'"a\\" 1 "')]
    assert read(b'"a\\n" 1', ESCAPES) == [(STRING, b'"a\\n"'), (NUMBER, b"1")]


def test_a_text_that_changes_the_sql_mode_is_unsure() -> None:
    assert read(b"SET SQL_mode = @m; SELECT 'a\\' 1", ESCAPES)[-1][0] == UNSURE


@pytest.mark.parametrize("charset", ["gbk", "big5", "gb18030", "sjis", "cp932", None])
def test_a_backslash_may_be_half_a_character(charset: str | None) -> None:
    assert read(b"'\x95\\' 1 '", ESCAPES, charset) == [(UNSURE, b"'\x95\\' 1 '")]
    assert read(b"`\x95` 1 `", ESCAPES, charset) == [(UNSURE, b"`\x95` 1 `")]
    assert read(b"'\x95\\\\' 1", ESCAPES, charset)[0][0] == UNSURE
    assert read(b"'\x95a' 1", ESCAPES, charset) == [(STRING, b"'\x95a'"), (NUMBER, b"1")]


@pytest.mark.parametrize("charset", ["utf8mb4", "latin1", "eucjpms"])
def test_in_other_character_sets_it_is_not(charset: str) -> None:
    assert read(b"'\xc3\xa9\\' 1 '", ESCAPES, charset) == [(STRING, b"'\xc3\xa9\\' 1 '")]


def test_bytes_above_ascii_may_be_blanks_before_a_number() -> None:
    for text in (b"\xa05", b"a\xa05", b"a\xa0.5", b"5\xa0", b"0x41\xa0", b"@a\xa05"):
        assert NUMBER in [kind for kind, _ in read(text, ESCAPES, "latin1")], text
        assert NUMBER in [kind for kind, _ in read(text, ESCAPES, None)], text


def test_dashes_before_what_may_be_a_blank_are_unsure() -> None:
    assert read(b"1 --\xa0'a'", ESCAPES, "latin1") == [(NUMBER, b"1"), (UNSURE, b"--\xa0'a'")]


def test_a_server_may_know_dollar_quotes_or_not() -> None:
    assert read(b"AS $a$ it's $a$ 1") == [(WORD, b"AS"), (UNSURE, b"$a$ it's $a$ 1")]
    assert read(b"a$b$ 1") == [(WORD, b"a$b$"), (NUMBER, b"1")]


@pytest.mark.parametrize(
    "text", [b"/*! it's */ 'a'", b"/*+ it's */ 'a'", b"/*M! # */ 'a'", b"/*! -- */ 'a'", b"/*! `*/"]
)
def test_what_is_quoted_over_the_end_of_an_executed_comment_is_unsure(text: bytes) -> None:
    found = read(text)
    assert found[-1][0] == UNSURE
    assert text.endswith(found[-1][1])


def test_what_follows_a_nul_in_a_comment_is_unsure() -> None:
    assert read(b"-- a\0b\n1") == [(UNSURE, b"-- a\0b\n1")]


def test_where_nothing_can_differ_nothing_need_be_known() -> None:
    assert read(b"SELECT 'a' FROM t", UNKNOWN, None) == read(b"SELECT 'a' FROM t", ESCAPES, "utf8mb4")
