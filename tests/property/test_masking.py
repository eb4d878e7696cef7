"""No byte of a literal leaves in masked text, whatever is said in which dialect; nor does a password otherwise."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.sql.mask import masked
from workers.sql.passwords import without_passwords
from workers.sql.tokens import END, ESCAPES, NO_ESCAPES, UNKNOWN, UNSURE, tokens

MARK = b"\xe2\x82\xac"  # stands in every literal, and nowhere else
CODE = [
    b"SELECT", b" a ", b"`b'`", b'`c"`', b"t1", b".", b".5x", b"@v", b"(", b")", b",", b"=", b"-", b"--", b"*", b"/",
    b"?", b";", b"\n", b" ", b"/*!50000 ", b"*/", b"/*+ ", b"_utf8mb4", b"N", b"x", b"DATE ", b"$d", b"\\N",
]  # fmt: skip
NOISE = [b"a", b" ", b"*/", b"/*", b"--", b"#", b"`", b"$$", b"%", b"=", b"\n", b"1"]


def inside(quote: bytes, other: bytes, escapes: bool) -> st.SearchStrategy[bytes]:
    """What may stand between quotes."""
    special = [quote * 2, other, b"\\\\", b"\\" + quote, b"\\n"] if escapes else [quote * 2, other, b"\\", b"a\\"]
    pieces = st.lists(st.sampled_from([*NOISE, *special]), max_size=5).map(b"".join)
    return st.tuples(pieces, pieces).map(lambda both: both[0] + MARK + both[1])


def literals(escapes: bool) -> st.SearchStrategy[bytes]:
    """One of each kind."""
    single = inside(b"'", b'"', escapes).map(lambda text: b"'" + text + b"'")
    double = inside(b'"', b"'", escapes).map(lambda text: b'"' + text + b'"')
    comment = st.sampled_from([b"a", b"'", b'"', b"\\", b"`"]).map(lambda text: b"/* " + text + MARK + b" */")
    line = st.sampled_from([b"-- ", b"#"]).map(lambda begin: begin + b"it's " + MARK + b"\n")
    return st.one_of(single, double, single.map(lambda text: b"N" + text), comment, line)


def statements(escapes: bool) -> st.SearchStrategy[bytes]:
    """Code and literals, each apart from the next."""
    return st.lists(st.one_of(st.sampled_from(CODE), literals(escapes)), max_size=12).map(b" ".join)


@settings(max_examples=200)
@given(text=statements(escapes=True), ends=st.integers(0, 300))
def test_no_literal_is_left_where_backslashes_escape(text: bytes, ends: int) -> None:
    for escapes in (ESCAPES, UNKNOWN):
        assert MARK not in masked(tokens(text, escapes, "utf8mb4"))
        assert MARK not in masked(tokens(text[:ends], escapes, None))


@settings(max_examples=200)
@given(text=statements(escapes=False), ends=st.integers(0, 300))
def test_no_literal_is_left_where_they_do_not(text: bytes, ends: int) -> None:
    for escapes in (NO_ESCAPES, UNKNOWN):
        assert MARK not in masked(tokens(text, escapes, "utf8mb4"))
        assert MARK not in masked(tokens(text[:ends], escapes, None))


ODD = [*CODE, *NOISE, b"'", b'"', b"\\", b"0x41", b"1e5", b"\x95", b"\xa0", b"\0"]
ANY = st.one_of(st.lists(st.sampled_from(ODD)).map(b"".join), st.binary(max_size=60))
HOW = st.sampled_from([UNKNOWN, ESCAPES, NO_ESCAPES])


@settings(max_examples=200)
@given(text=ANY, escapes=HOW, charset=st.sampled_from([None, "utf8mb4", "gbk"]))
def test_any_text_falls_into_tokens_with_blanks_alone_between_them(text: bytes, escapes: int, charset: str) -> None:
    walk = tokens(text, escapes, charset)
    at = 0
    while walk.next() != END:
        assert text[at : walk.begin].strip(b" \t\n\v\f\r") == b""
        assert at <= walk.begin < walk.end <= len(text)
        assert walk.kind != UNSURE or walk.end == len(text)
        at = walk.end
    assert text[at:].strip(b" \t\n\v\f\r") == b""


@settings(max_examples=200)
@given(text=ANY, escapes=HOW)
def test_masking_twice_is_masking_once(text: bytes, escapes: int) -> None:
    once = masked(tokens(text, escapes, "utf8mb4"))
    assert masked(tokens(once, escapes, "utf8mb4")) == once


@settings(max_examples=300)
@given(text=ANY, escapes=HOW)
def test_what_is_surely_code_stays_as_it_was(text: bytes, escapes: int) -> None:
    """Words and signs of the text, one after the other, are in the masked text in that order."""
    walk = tokens(text, escapes, "utf8mb4")
    shown = masked(tokens(text, escapes, "utf8mb4"))
    at = 0
    while (kind := walk.next()) not in (END, UNSURE):
        if kind in (1, 2, 6):
            found = shown.find(text[walk.begin : walk.end], at)
            assert found >= 0
            at = found + walk.end - walk.begin


LEADS = [
    b"CREATE USER a IDENTIFIED BY", b"SET PASSWORD =", b"SET PASSWORD FOR 'u'@'h' =",
    b"CHANGE MASTER TO MASTER_PASSWORD=",
    b"ALTER USER a IDENTIFIED WITH p AS", b"GRANT ALL ON *.* TO a IDENTIFIED BY PASSWORD", b"SELECT 1; SET PASSWORD =",
    b"CREATE SERVER s OPTIONS (USER 'u', PASSWORD", b"SELECT AES_ENCRYPT('a',", b"SELECT PASSWORD(",
    b"CREATE USER a IDENTIFIED VIA p USING PASSWORD(", b"/*!50000 ALTER USER a IDENTIFIED BY",
]  # fmt: skip
GAPS = [b" ", b"\n", b"/* c */", b" -- c\n", b" # it's\n"]


@settings(max_examples=200)
@given(
    lead=st.sampled_from(LEADS),
    gaps=st.lists(st.sampled_from(GAPS), min_size=1, max_size=3).map(b"".join),
    before=st.lists(st.sampled_from([b"SELECT 'a\\\\', \"b\" ; ", b"", b" "]), max_size=2).map(b"".join),
    text=inside(b"'", b'"', escapes=True),
    ends=st.integers(0, 60),
    escapes=st.sampled_from([UNKNOWN, ESCAPES]),
)
def test_a_password_never_leaves(lead: bytes, gaps: bytes, before: bytes, text: bytes, ends: int, escapes: int) -> None:
    statement = before + lead.replace(b" ", gaps) + gaps + b"'" + text + b"'"
    for sent in (statement, statement + b", 'x'", statement[: len(statement) - ends]):
        assert MARK not in without_passwords(sent, escapes, "utf8mb4").text


@pytest.mark.parametrize("size", [50_000])
@pytest.mark.parametrize(
    "piece",
    [b"'", b"\\'", b"/*", b"/*!", b"$a", b"$$", b"`", b"0x", b"1e", b"(", b"password=", b"'password"],
)
def test_the_time_grows_with_the_length_alone(size: int, piece: bytes) -> None:
    text = piece * (size // len(piece))
    masked(tokens(text, UNKNOWN, None))
    without_passwords(text)
