"""The shape of a statement: its text without its literals and comments, so that what differs in values alone is one.

Works on the text's tokens, not on its grammar: it never fails, whatever the text is, and needs no knowledge of the
server's version. ``"`` is taken for a string and a backslash for an escape, as they are unless ANSI_QUOTES or
NO_BACKSLASH_ESCAPES is set. What masked() leaves of a text has the shape of the text.
"""

import re
from typing import Final

import cython

from workers.sql.tokens import COMMENT, END, NUMBER, STRING, UNSURE, WORD, Tokens, usual_tokens

_END = cython.declare(cython.int, END)
_WORD = cython.declare(cython.int, WORD)
_STRING = cython.declare(cython.int, STRING)
_NUMBER = cython.declare(cython.int, NUMBER)
_COMMENT = cython.declare(cython.int, COMMENT)
_UNSURE = cython.declare(cython.int, UNSURE)

_LIST: Final = re.compile(rb"\((?:\s*[+-]?\?\s*,)*\s*[+-]?\?\s*\)")
_ROWS: Final = re.compile(rb"(\(\?\+\))(?:\s*,\s*\(\?\+\))+")


def fingerprint(sql: bytes) -> bytes:
    """The shape of *sql*: literals become ``?``, lists of them ``(?+)``, words lower case, white space one blank.

    What servers execute though it looks like a comment (``/*!``) is part of the shape, and so are optimizer hints.
    """
    shape = _without_values(sql).strip().rstrip(b"; ")
    return _ROWS.sub(rb"\1", _LIST.sub(b"(?+)", shape))


@cython.cfunc
def _without_values(sql: bytes) -> bytes:
    pieces: list[bytes] = []
    walk: Tokens = usual_tokens(sql)
    end: cython.Py_ssize_t = 0
    before: cython.int = _END
    apart: cython.bint = False
    kind: cython.int = walk.next()
    while kind != _END:
        apart = apart or walk.begin > end or kind == _COMMENT
        end = walk.end
        if kind == _STRING and before == _STRING:  # servers join them
            apart = False
        elif kind != _COMMENT:
            if apart:
                pieces.append(b" ")
            pieces.append(_shape(sql[walk.begin : end], kind))
            apart = False
        before = kind
        kind = walk.next()
    return b"".join(pieces)


@cython.cfunc
def _shape(token: bytes, kind: cython.int) -> bytes:
    if kind == _STRING or kind == _NUMBER or kind == _UNSURE:
        return b"?"
    if kind == _WORD and token[0] != 0x40:  # names of variables stay as they are
        return token.lower()
    return token
