"""A traceparent in a comment is found wherever the comment stands, and one that is anywhere else never.

The texts are written as the manuals' "Lexical structure" has it, in each SQL mode there is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from workers.sql.tracecontext import in_comments

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OTHER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
TRAILERS = (f"/*traceparent='{OTHER}'*/", f"/*a='b%27',traceparent='{OTHER}',z='1'*/", f"/* traceparent={OTHER} */")
BLOCKS = (
    f"/*traceparent='{TRACEPARENT}'*/",
    f"/*a='b%27',traceparent='{TRACEPARENT}',z='1'*/",
    f"/* it's traceparent={TRACEPARENT} */",
)
COMMENTS = (*BLOCKS, f"-- traceparent={TRACEPARENT}\n", f'#"traceparent": "{TRACEPARENT}"\n')
PLAIN = (
    "SELECT", "t.a$b", "@v", "1", ".5", "0xFF", "(", ")", ",", "*", "/", "-", "--1", "=", ":=", ";", "?", "NULL", "漢",
    "/* it's */", "/**/", "/*/*/", '-- "not" `it\n', "# it's\n", "--\n", "/*!40101 SET a = 'b' */", "/*M! 1 */",
    "/*+ x */",
)  # fmt: skip
"""Tokens that are the same in each mode."""
TEXTS = st.lists(
    st.sampled_from((*COMMENTS, "'", '"', "`", "\\", "$$", "/*", "*/", "--", "-- ", "#", "\n", "/*!", "a", "é"))
).map("".join)


@dataclass(frozen=True)
class Mode:
    """How a server reads what is quoted."""

    backslash_escapes: bool
    ansi_quotes: bool
    dollar_quotes: bool

    def quotes(self) -> tuple[Callable[[str], str], ...]:
        """All that there are, which each write a text."""
        escaped = self.backslash_escapes and not self.ansi_quotes
        double = (escape if escaped else double_up)('"')
        single = (escape if self.backslash_escapes else double_up)("'")
        return (single, double, double_up("`"), *((in_dollars,) if self.dollar_quotes else ()))

    def tokens(self, texts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        """Whole tokens, quoted *texts* among them."""
        names = () if self.dollar_quotes else ("$$", "$a$", "$")
        return st.sampled_from((*PLAIN, *names)) | quoted(self, texts)


MODES = st.builds(Mode, st.booleans(), st.booleans(), st.booleans())


def double_up(quote: str) -> Callable[[str], str]:
    return lambda text: quote + text.replace(quote, quote * 2) + quote


def escape(quote: str) -> Callable[[str], str]:
    return lambda text: quote + text.replace("\\", "\\\\").replace(quote, "\\" + quote) + quote


def in_dollars(text: str) -> str:
    tag = "" if "$" not in text else "é1"
    return f"${tag}${text}${tag}$"


def quoted(mode: Mode, texts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda quote, text: quote(text), st.sampled_from(mode.quotes()), texts)


@given(st.data())
def test_a_traceparent_is_never_found_in_what_is_quoted(data: st.DataObject) -> None:
    mode = data.draw(MODES)
    parts = data.draw(st.lists(mode.tokens(TEXTS), max_size=6))
    text = data.draw(TEXTS) + data.draw(st.sampled_from(COMMENTS)) + data.draw(TEXTS)
    parts.insert(data.draw(st.integers(0, len(parts))), data.draw(quoted(mode, st.just(text))))
    assert in_comments(" ".join(parts)) is None


@given(st.data())
def test_a_traceparent_is_never_found_in_what_servers_execute(data: st.DataObject) -> None:
    parts = data.draw(st.lists(data.draw(MODES).tokens(TEXTS), max_size=4))
    inside = data.draw(st.sampled_from((*BLOCKS, f"traceparent={TRACEPARENT}")))
    begin = data.draw(st.sampled_from(("/*!", "/*!50000 ", "/*M!", "/*+ ")))
    parts.insert(data.draw(st.integers(0, len(parts))), f"{begin}SELECT {inside} 1 */")
    assert in_comments(" ".join(parts)) is None


PORTABLE = st.sampled_from(PLAIN) | st.builds(
    lambda quote, text: double_up(quote)(text.replace("\\", "")), st.sampled_from("'\"`"), TEXTS
)
"""Tokens that each mode reads the same."""


@given(st.lists(PORTABLE, max_size=8), st.sampled_from(COMMENTS), st.data())
def test_a_traceparent_is_found_in_a_comment_between_any_two_tokens(
    parts: list[str], comment: str, data: st.DataObject
) -> None:
    parts.insert(data.draw(st.integers(0, len(parts))), comment)
    assert in_comments(" ".join(parts)) == TRACEPARENT


SURE = TEXTS.filter(lambda text: "/*!" not in text)


@given(st.data(), st.sampled_from(TRAILERS))
def test_what_a_tracer_appends_to_a_whole_text_is_found_whatever_its_strings_hold(
    data: st.DataObject, comment: str
) -> None:
    mode = data.draw(MODES)
    parts = data.draw(st.lists(mode.tokens(SURE), max_size=8))
    assert in_comments(" ".join((*parts, comment))) == OTHER


@given(st.text() | TEXTS, st.booleans())
def test_no_text_fails(sql: str, whole: bool) -> None:
    assert in_comments(sql, whole=whole) in {None, TRACEPARENT}
