"""The shape of a statement: its text without its literals and comments, so that what differs in values alone is one.

Works on the text's tokens ("Lexical structure" in the MySQL and MariaDB manuals), not on its grammar: it never fails,
whatever the text is, and needs no knowledge of the server's version. ``"`` is taken for a string, as it is unless
ANSI_QUOTES is set.
"""

import re
from typing import Final

_TOKENS: Final = re.compile(
    rb"""
      (?P<literal>
          [xXbBnN]?'(?:[^'\\]|\\.|'')*(?:'|\Z)          # strings, hexadecimal, bit and national ones
        | "(?:[^"\\]|\\.|"")*(?:"|\Z)
        | (?<![\w$.`])0[xX][0-9a-fA-F]+\b
        | (?<![\w$`@])[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?(?![\w$])
        | \?
      )
    | (?P<quoted>`(?:[^`]|``)*(?:`|\Z))
    | (?P<kept>/\*(?:[!+]|M!).*?(?:\*/|\Z))             # executed comments and optimizer hints are part of the shape
    | (?P<dropped>(?:/\*(?![!+]|M!).*?(?:\*/|\Z) | --(?:[\s\x00]|\Z)[^\n]* | \#[^\n]* | \s+)+)
    | (?P<word>[\w$\x80-\xff@.]+)
    """,
    re.VERBOSE | re.DOTALL,
)
# The same literals, in a text in small letters, wherever no word, quoted name or comment can hide them.
_LITERALS: Final = re.compile(
    rb"""
        '(?:[^'\\]+|\\.|'')*(?:'|\Z)
      | "(?:[^"\\]+|\\.|"")*(?:"|\Z)
      | (?<![\w$\x80-\xff@.])(?:
            [xbn]'(?:[^'\\]+|\\.|'')*(?:'|\Z)
          | 0x[0-9a-f]+\b
          | [0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?(?![\w$])
        )
    """,
    re.VERBOSE | re.DOTALL,
)
_NEED_TOKENS: Final = re.compile(rb"[`@#]|/\*|--")
"""Outside of literals: quoted names and variables, which keep their letters, and what begins comments."""
_LIST: Final = re.compile(rb"\((?:\s*[+-]?\?\s*,)*\s*[+-]?\?\s*\)")
_ROWS: Final = re.compile(rb"(\(\?\+\))(?:\s*,\s*\(\?\+\))+")
_KEYWORDS_ASIDE: Final = re.compile(rb"`|@")


def fingerprint(sql: bytes) -> bytes:
    """The shape of *sql*: literals become ``?``, lists of them ``(?+)``, words lower case, white space one blank."""
    shape = b" ".join(_LITERALS.sub(b"?", sql.lower()).split())  # four times as fast as token by token
    if _NEED_TOKENS.search(shape):
        shape = _by_tokens(sql)
    return _ROWS.sub(rb"\1", _LIST.sub(b"(?+)", shape.rstrip(b"; ")))


def _by_tokens(sql: bytes) -> bytes:
    pieces: list[bytes] = []
    at = 0
    for token in _TOKENS.finditer(sql):
        pieces.append(sql[at : token.start()])
        at = token.end()
        pieces.append(_shape(token))
    pieces.append(sql[at:])
    return b"".join(pieces).strip()


def _shape(token: re.Match[bytes]) -> bytes:
    if token.lastgroup == "literal":
        return b"?"
    if token.lastgroup == "dropped":
        return b" "
    if token.lastgroup == "word" and not _KEYWORDS_ASIDE.search(token[0]):
        return token[0].lower()
    return token[0]
