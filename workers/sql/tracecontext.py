"""The W3C Trace Context that tracers send beside a statement: a traceparent by itself, or in a comment of the SQL.

The value: https://www.w3.org/TR/trace-context/#traceparent-header. Comments: those that
https://google.github.io/sqlcommenter/spec/ describes (``/*key='value',traceparent='00-...'*/``), and any others that
have the name, ``=`` or ``:``, and the value.

Works on the text's tokens ("Lexical structure" in the MySQL and MariaDB manuals), as fingerprint.py does. Where a
string ends depends on the SQL mode and the server's version, which are not known: what counts is a comment in each of
the readings there are, but for those that leave a string open at the end, which no server takes.
"""

import itertools
import re
from typing import Final
from urllib.parse import unquote

NAME: Final = "traceparent"
"""Of the query attribute, and of the key in a comment."""

_TRACE_ID: Final = r"(?!0{32})[0-9a-f]{32}"
_TRACEPARENT: Final = re.compile(
    # 0xff is no version; nothing follows the fields of version 0, and in later ones only behind a dash
    rf"(?P<fields>(?!ff|00.{{54}})[0-9a-f]{{2}}-(?P<trace_id>{_TRACE_ID})-(?!0{{16}})[0-9a-f]{{16}}-[0-9a-f]{{2}})(?:-.*)?",
    re.DOTALL,
)
_PAIR: Final = re.compile(rf"""(?<![\w.-]){NAME}['"]?\s*[=:]\s*['"]?(?P<value>[^\s'"*,;)}}\]]+)""")


def parse(value: str) -> str | None:
    """The four fields of *value* if it is a traceparent, without what later versions may have behind them."""
    found = _TRACEPARENT.fullmatch(value)
    return None if found is None else found["fields"]


def trace_id(value: str) -> str | None:
    """The trace id in *value*, which is a traceparent or that id alone; None if it is neither."""
    if re.fullmatch(_TRACE_ID, value):
        return value
    found = _TRACEPARENT.fullmatch(value)
    return None if found is None else found["trace_id"]


def in_comments(sql: str, *, whole: bool = True) -> str | None:
    """The first traceparent in a comment of *sql*; None where there is none, or where it may be no comment.

    *whole*: the text is not cut.
    """
    if NAME not in sql:
        return None
    tried = _READINGS if "\\" in sql or "$" in sql else _READINGS[:1]
    readings = [_read(sql, tokens) for tokens in tried]
    likely = [found for found, is_open in readings if not (is_open and whole)] or [found for found, _ in readings]
    agreed = set.intersection(*likely)
    return min(agreed)[1] if agreed else None


def _read(sql: str, tokens: re.Pattern[str]) -> tuple[set[tuple[int, str]], bool]:
    """Where traceparents are in comments, and which; and whether something that was begun does not end."""
    found: set[tuple[int, str]] = set()
    for token in tokens.finditer(sql):
        if token["open"] is not None or token["unsure"] is not None:
            return found, token["open"] is not None
        if token["comment"] is not None:
            for pair in _PAIR.finditer(sql, *token.span("comment")):
                value = parse(unquote(pair["value"]))
                if value is not None:
                    found.add((pair.start(), value))
    return found, False


# Nothing here tries the same text twice: it may be hostile.
_ESCAPED: Final = r"{0}(?:[^{0}\\]|\\.)*+{0}"
_PLAIN: Final = r"{0}[^{0}]*+{0}"
_LETTER: Final = r"\w\x80-\U0010ffff"
_DOLLARS: Final = rf"(?<![{_LETTER}$])\$[{_LETTER}]*+\$"
_DOLLAR_QUOTED: Final = rf"(?P<tag>{_DOLLARS}).*?(?P=tag)"  # MySQL 8.0.34
_NEVER: Final = r"(?!)"


def _tokens(single: str, double: str, dollars: tuple[str, str]) -> re.Pattern[str]:
    """Comments, and the tokens in which none begins; the arguments: what is quoted so, of dollars the beginning too.

    What a server executes (``/*!``) or reads (``/*+``) is no comment; it is passed over where its end is certain.
    Where it is not, all behind it is unsure, as behind dashes that some character sets have a blank behind.
    """
    return re.compile(
        rf"""
          [^'"`/\#$-]++
        | {single.format("'")} | {double.format('"')} | {_PLAIN.format("`")} | {dollars[1]}
        | /\*(?:M?!|\+)(?:[^'"`\\\#$*/-]|'[^'\\*]*+'|"[^"\\*]*+"|`[^`*]*+`|\*(?!/)|/(?!\*)|-(?!-))*+\*/
        | (?P<comment> /\*(?!M?!|\+).*?\*/ | (?:--(?=[\x00-\x20\x7f]|\Z)|\#)[^\n\0]*+ )
        | (?P<unsure> /\*(?:M?!|\+) | --[\x80-\xa0\ufffd] )
        | (?P<open> ['"`] | {dollars[0]} | /\* )
        """,
        re.VERBOSE | re.DOTALL,
    )


# Backslashes escape in both kinds of quotes, in neither (NO_BACKSLASH_ESCAPES), or in single ones alone (ANSI_QUOTES).
_READINGS: Final = tuple(
    _tokens(single, double, dollars)
    for (single, double), dollars in itertools.product(
        ((_ESCAPED, _ESCAPED), (_PLAIN, _PLAIN), (_ESCAPED, _PLAIN)), ((_NEVER, _NEVER), (_DOLLARS, _DOLLAR_QUOTED))
    )
)
