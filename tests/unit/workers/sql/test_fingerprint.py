"""Statements that differ in values alone have one shape, and others do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.sql.fingerprint import fingerprint


@pytest.mark.parametrize(
    ("sql", "shape"),
    [
        (b"SELECT c FROM t WHERE id = 5", b"select c from t where id = ?"),
        (b"select c from t where id=-5", b"select c from t where id=-?"),
        (b"select 1.5e-3, .5, 0xFF, x'FF', b'01', N'n'", b"select ?, ?, ?, ?, ?, ?"),
        (b"select 'it''s', 'a\\'b', \"q\\\"q\", ''", b"select ?, ?, ?, ?"),
        (b"select 'unfinished", b"select ?"),
        (b"select `a``b 1` from `T 2`", b"select `a``b 1` from `T 2`"),
        (b"select t1.c2 from db5.t1", b"select t1.c2 from db5.t1"),
        (b"select @v1, @@global.x9, :n1", b"select @v1, @@global.x9, :n1"),
        (b"select a from t where b in (1, 2,3)", b"select a from t where b in (?+)"),
        (b"select a from t where b in (1)", b"select a from t where b in (?+)"),
        (b"insert into t values (1,'a'),(2,'b') , (-3,'c')", b"insert into t values (?+)"),
        (b"select  a -- to the end\n\t from t # too\n where b /* c */ = 1 ;", b"select a from t where b = ?"),
        (b"select a--1", b"select a--?"),
        (b"/*!50000 SELECT 1 */", b"/*!50000 select ? */"),
        (b"select /*+ NO_INDEX(t) */ 1", b"select /*+ no_index(t) */ ?"),
        (b"select 'a' 'b', 0b01, 1., n'a'\n\"b\"", b"select ?, ?, ?, ?"),
        (b"select /* Mind the 5 */ 1", b"select ?"),
        (b"execute s using ?", b"execute s using ?"),
        (b"", b""),
    ],
)
def test_a_statement_has_this_shape(sql: bytes, shape: bytes) -> None:
    assert fingerprint(sql) == shape


@given(st.binary(max_size=200))
def test_no_text_fails(sql: bytes) -> None:
    assert isinstance(fingerprint(sql), bytes)


@given(st.text("abc'\\\" -;#/*`", max_size=30), st.text("xyz'\\\" -;#/*`", max_size=30))
def test_strings_of_any_content_give_one_shape(one: str, other: str) -> None:
    def statement(value: str) -> bytes:
        escaped = value.replace("\\", "\\\\").replace("'", "''")
        return f"select a from t where b = '{escaped}' and c = 1".encode()

    assert fingerprint(statement(one)) == fingerprint(statement(other)) == b"select a from t where b = ? and c = ?"


PIECES = st.sampled_from([
    b"'", b'"', b"\\", b"a", b"X", b"x'", b"N'", b"0x1F", b"1", b"1.5", b".5", b"e5", b"1e-5", b"?", b" ", b"\n",
    b"\x0b", b"(", b")", b",", b";", b"$", b"\xe9", b"t.1", b"b.", b"_", b"-", b"+", b"/", b"*", b"!", b"SELECT ",
    b"''",
])  # fmt: skip


@given(st.lists(PIECES, max_size=14).map(b"".join))
def test_the_shape_does_not_depend_on_the_way_it_is_found(sql: bytes) -> None:
    """A comment at the end makes the tokens of the text count one by one, and is left out."""
    if not _is_open(sql):
        assert fingerprint(sql + b" /* c */") == fingerprint(sql)


def _is_open(sql: bytes) -> bool:
    """Whether a literal is not closed, so that what follows is in it."""
    return fingerprint(sql + b" x1y") == fingerprint(sql)
