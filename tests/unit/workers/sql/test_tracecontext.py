"""What is a traceparent, and what is a comment that has one."""

from __future__ import annotations

import pytest

from workers.sql.tracecontext import in_comments, parse, trace_id

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
FIELDS = f"{TRACE_ID}-b7ad6b7169203331-01"
TRACEPARENT = f"00-{FIELDS}"
OTHER = f"00-{TRACE_ID}-00f067aa0ba902b7-00"
COMMENT = f"/*traceparent='{TRACEPARENT}'*/"


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        (TRACEPARENT, TRACEPARENT),
        (f"00-{FIELDS[:-2]}ff", f"00-{FIELDS[:-2]}ff"),
        (f"01-{FIELDS}", f"01-{FIELDS}"),
        (f"fe-{FIELDS}-and more\nof it", f"fe-{FIELDS}"),
        (f"fe-{FIELDS}-", f"fe-{FIELDS}"),
        (f"fe-{FIELDS}and", None),
        (f"00-{FIELDS}-and", None),
        (f"00-{FIELDS}\n", None),
        (f" 00-{FIELDS}", None),
        (f"ff-{FIELDS}", None),
        (f"0-{FIELDS}", None),
        (f"00-{FIELDS[:-1]}", None),
        (TRACEPARENT.upper(), None),
        (f"00-{'0' * 32}-b7ad6b7169203331-01", None),
        (f"00-{TRACE_ID}-{'0' * 16}-01", None),
        (f"00-{'0' * 31}1-{'0' * 15}1-00", f"00-{'0' * 31}1-{'0' * 15}1-00"),
        (f"00-{TRACE_ID[:-1]}٣-b7ad6b7169203331-01", None),
        ("", None),
    ],
)
def test_a_traceparent_has_this_form_and_no_other(value: str, fields: str | None) -> None:
    assert parse(value) == fields


def test_a_trace_id_stands_alone_or_in_a_traceparent() -> None:
    assert trace_id(TRACE_ID) == trace_id(TRACEPARENT) == trace_id(f"fe-{FIELDS}-more") == TRACE_ID
    for other in ("0" * 32, TRACE_ID[:-1], TRACE_ID + "0", TRACE_ID.upper(), f"ff-{FIELDS}", TRACE_ID + "\n"):
        assert trace_id(other) is None


@pytest.mark.parametrize(
    "comment",
    [
        COMMENT,
        f"/*action='%2Fparam*d',framework='spring',traceparent='{TRACEPARENT}',tracestate='congo%3Dt61rcWkgMzE'*/",
        f"/* traceparent={TRACEPARENT} */",
        f"/*traceparent={TRACEPARENT}*/",
        f"/*application:Shop,traceparent:{TRACEPARENT}*/",
        f'/* {{"traceparent": "{TRACEPARENT}", "user": "it\'s me"}} */',
        f"/* {{traceparent = {TRACEPARENT}}} */",
        f"/*traceparent='{TRACEPARENT.replace('-', '%2D')}'*/",
        f"/*traceparent='none'*/ /*traceparent='{TRACEPARENT}',traceparent='{OTHER}'*/",
        f"/*\ntraceparent\n=\n{TRACEPARENT}\n*/",
        f"/**traceparent={TRACEPARENT}**/",
        f"-- traceparent={TRACEPARENT}\n",
        f"--\x01traceparent='{TRACEPARENT}'\n",
        f"#traceparent: {TRACEPARENT}\r\n",
    ],
)
@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("SELECT 1 ", ""),
        ("", "SELECT 1"),
        ("SELECT/**/1", "+1"),
        ("SELECT 'it''s', \"a\"\"b\", `c``d`, '\\n' ", " FROM t"),
        ("SELECT '/*' /* ' */", " '*/'"),
        ("/*!40101 SET a = 'b' */; /*M!100100 SET c = 1 * 2 */;", "/*! it's */"),
        ("SELECT /*+ QB_NAME(`a b`) */ 1 ", ""),
        ("SELECT a$b, 5--1, 4/2 ", " 'unfinished"),
        ("SELECT '\\\\', '漢\\n' ", " -- '"),
        ("SELECT 'it\\'s' ", ""),
        ("SELECT \"a\\\"b\", 'that\\'s it' ", "\n, 'that''s'"),
        ("SELECT 1 -- it's\n", "# it's"),
    ],
)
def test_it_is_found_in_a_comment(before: str, comment: str, behind: str) -> None:
    assert in_comments(before + comment + behind) == TRACEPARENT


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT '{COMMENT}'".replace("='", "=").replace("'*", "*"),
        f"SELECT ' /*traceparent={TRACEPARENT}*/ ",
        f"SELECT 'it''s /*traceparent={TRACEPARENT}*/'",
        f"SELECT 'it\\'s /*traceparent={TRACEPARENT}*/'",
        f'SELECT "{COMMENT}"',
        f"SELECT `{COMMENT}`",
        f"SELECT 'cut behind a backslash {COMMENT[:13]}{TRACEPARENT}*/ \\",
        f"/*! {COMMENT} */",
        f"/*!50000 SELECT 1 {COMMENT} */",
        f"/*!traceparent={TRACEPARENT}*/",
        f"/*M!100100 {COMMENT} */",
        f"/*M!traceparent={TRACEPARENT}*/",
        f"SELECT /*+ traceparent={TRACEPARENT} */ 1",
        f"/*! SELECT '*/' {COMMENT} ' */",
        f"/*! SELECT 1 # */ '\n */ {COMMENT} '",
        f"/*! -- ' */ {COMMENT}",
        f"SELECT 'a\\'' /*! it's */ {COMMENT}",
        f"SELECT --traceparent={TRACEPARENT}",
        f"SELECT 1 traceparent={TRACEPARENT}",
        f"SELECT 1 {COMMENT[:-2]}",
        f"SELECT 1 /*/ {COMMENT[2:-2]}",
        f"SELECT $$ {COMMENT} $$",
        f"SELECT $a$ {COMMENT} $a$",
        f"SELECT $a$ $$ {COMMENT} $$ $a$",
        f"SELECT --\xa0' {COMMENT} '",
        f"-- \0{COMMENT[2:-2]}\n",
        f"/*x-traceparent='{TRACEPARENT}'*/",
        f"/*mytraceparent='{TRACEPARENT}'*/",
        f"/*Traceparent='{TRACEPARENT}'*/",
        f"/*traceparent '{TRACEPARENT}'*/",
        f"/*traceparent='{TRACEPARENT}-and'*/",
        f"/*traceparent='{TRACEPARENT[:-1]}'*/",
        "",
    ],
)
def test_nothing_is_found_where_there_is_none_or_where_it_may_be_no_comment(sql: str) -> None:
    assert in_comments(sql) is None


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_comment_in_some_sql_modes_alone_does_not_count(quote: str) -> None:
    in_a_string_with_escapes = f"SELECT '\\' /* traceparent={TRACEPARENT} */ ' "
    in_a_string_without = f"SELECT '\\' ' /* traceparent={TRACEPARENT} */ ' ' "
    for sql in (in_a_string_with_escapes + " -- '", in_a_string_without + " -- '"):
        assert in_comments(sql.replace("'", quote)) is None
    in_a_name_with_ansi_quotes = f"""SELECT 'a\\'', "b\\" , " /* traceparent={TRACEPARENT} */ -- " """
    assert in_comments(in_a_name_with_ansi_quotes) is None


def test_a_reading_that_leaves_a_string_open_counts_where_the_text_is_cut_alone() -> None:
    sql = f"SELECT 'it\\'s' /* traceparent={TRACEPARENT} */"
    assert in_comments(sql) == TRACEPARENT
    assert in_comments(sql, whole=False) is None
    assert in_comments(f"/* traceparent={TRACEPARENT} */ SELECT 'it\\'s, 'cut", whole=False) == TRACEPARENT
    assert in_comments(f"/* traceparent={TRACEPARENT} */ SELECT 'it\\'s, 'wrong") == TRACEPARENT


def test_the_first_one_counts_that_is_in_a_comment_whatever_the_mode_is() -> None:
    assert in_comments(f"{COMMENT} SELECT '\\' /*traceparent={OTHER}*/ ' ") == TRACEPARENT
    assert in_comments(f"SELECT 'traceparent={OTHER}' {COMMENT} /*traceparent={OTHER}*/") == TRACEPARENT
