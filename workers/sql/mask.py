"""SQL text without its literals: each is a ``?``, comments are empty, and all else stays as it was sent."""

import cython

from workers.sql.tokens import COMMENT, END, NUMBER, STRING, UNSURE, Tokens

_END = cython.declare(cython.int, END)
_STRING = cython.declare(cython.int, STRING)
_NUMBER = cython.declare(cython.int, NUMBER)
_COMMENT = cython.declare(cython.int, COMMENT)
_UNSURE = cython.declare(cython.int, UNSURE)


@cython.ccall
def masked(tokens: Tokens) -> bytes:
    """The text of *tokens* with a ``?`` for each literal, and one for all that is unsure.

    Strings that servers join, as white space alone is between them, are one. TRUE, FALSE, NULL and names stay, and so
    do signs before numbers. Masking a masked text changes nothing.
    """
    text: bytes = tokens.text
    pieces: list[bytes] = []
    kept: cython.Py_ssize_t = 0
    before: cython.int = _END
    kind: cython.int = tokens.next()
    while kind != _END:
        if kind == _STRING and before == _STRING:
            kept = tokens.end
        elif kind == _STRING or kind == _NUMBER or kind == _UNSURE or kind == _COMMENT:
            pieces.append(text[kept : tokens.begin])
            pieces.append(_empty(text, tokens.begin) if kind == _COMMENT else b"?")
            kept = tokens.end
        before = kind
        kind = tokens.next()
    if kept == 0:
        return text
    pieces.append(text[kept:])
    return b"".join(pieces)


@cython.cfunc
def _empty(text: bytes, at: cython.Py_ssize_t) -> bytes:
    """The comment that begins there without what it says."""
    if text[at] == 0x2F:
        return b"/**/"
    return b"#" if text[at] == 0x23 else b"-- "
