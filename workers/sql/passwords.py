"""Passwords in SQL text, by the grammar around them: docs/privacy.md has the list of statements, with its sources.

What is a password follows from the tokens before it, in any statement, so that stored programs and several statements
in one text are nothing special. In doubt it is one: where the text cannot be read for sure, and where a text in quotes
is SQL with a password itself.
"""

import re
from typing import Final, NamedTuple

from workers.sql.firstlook import may_hold_password
from workers.sql.tokens import COMMENT, END, NAME, NO_ESCAPES, NUMBER, STRING, UNKNOWN, UNSURE, WORD, Tokens, tokens

SECRET: Final = b"'<secret>'"
"""What stands in the place of a password."""

_FUNCTIONS: Final = {
    b"password": 0,
    b"old_password": 0,
    b"encrypt": 0,
    b"validate_password_strength": 0,
    b"aes_encrypt": 1,
    b"aes_decrypt": 1,
    b"des_encrypt": 1,
    b"des_decrypt": 1,
    b"encode": 1,
    b"decode": 1,
    b"keyring_key_store": 2,
}
"""Functions that take a password or key, and which is the first argument that is one."""
_NAMES: Final = frozenset({b"authentication_string", b"challenge_response", b"wsrep_sst_auth"})
_ENDINGS: Final = (b"password", b"passwd")
"""Of names of what has a password as its value: MASTER_PASSWORD = '...', PASSWORD '...', @my_password := '...'."""
_COMPARING: Final = frozenset({b"as", b"binary", b"in", b"is", b"like", b"not", b"to"})
_BEGIN_CLAUSE: Final = frozenset({b"as", b"by", b"via", b"with"})
_END_CLAUSE: Final = frozenset({b"account", b"attribute", b"comment", b"default", b"require"})
"""Behind IDENTIFIED: what can follow that has text in quotes and is no password."""
_BEFORE_PLUGIN: Final = frozenset({b"or", b"via", b"with"})
_URL: Final = re.compile(rb"://[^/?#@]*:[^@]*@")
_ESCAPED: Final = re.compile(rb"(?s)\\(.)")
_DEEPEST: Final = 3
"""Texts in quotes within texts in quotes; deeper ones are taken for passwords unread."""

# What is expected behind a name that has a password as its value.
_NOTHING: Final = 0
_VALUE: Final = 1
"""An operator, or the value at once."""
_OPERAND: Final = 2
"""The value: an operator was there."""
_CALL: Final = 3
"""The arguments of a function whose result is the value."""
_ACCOUNT: Final = 4
"""SET PASSWORD FOR: an account, up to the =."""
_MORE: Final = 5
"""A string that is joined to the one before."""


class Clean(NamedTuple):
    """A text without its passwords."""

    text: bytes
    is_bound: bool
    """A value that is bound to it is a password."""


def without_passwords(text: bytes, escapes: int = UNKNOWN, charset: str | None = None) -> Clean:
    """*text* with ``'<secret>'`` for each password; *escapes* and *charset* as in tokens().

    The text itself, not a copy, where there is none.
    """
    found = _Finder(tokens(text, escapes, charset), escapes, charset, 0)
    found.run()
    if not found.secrets:
        return Clean(text, found.placeholder)
    pieces = []
    kept = 0
    for begin, end in found.secrets:
        pieces += [text[kept:begin], _hidden(text[begin:end])]
        kept = end
    return Clean(b"".join([*pieces, text[kept:]]), found.placeholder)


def _hidden(token: bytes) -> bytes:
    if token.startswith(b"/*"):
        return b"/* <secret> */"
    if token.startswith(b"#"):
        return b"# <secret>"
    return b"-- <secret>" if token.startswith(b"--") else SECRET


def holds_password(data: bytes) -> bool:
    """Whether there is a password in *data*, which may be SQL, text that quotes it, or anything else.

    Where may_hold_password() says no, there is none.
    """
    found = _Finder(tokens(data, UNKNOWN, None), UNKNOWN, None, 1)
    found.run()
    return found.found_any()


class _Finder:
    """Walks over a text once; ``secrets`` are the tokens to be hidden.

    ``placeholder``: a ``?`` stands where a password would. ``open``: a password would be what follows the text.
    """

    def __init__(self, found: Tokens, escapes: int, charset: str | None, depth: int) -> None:
        self.secrets: list[tuple[int, int]] = []
        self.placeholder = False
        self.open = False
        self._tokens = found
        self._text = found.text
        self._escapes = escapes
        self._charset = charset
        self._depth = depth
        self._all = False
        self._forget()

    def _forget(self) -> None:
        """A statement ends, and perhaps another begins."""
        self._before = b""
        self._expected = _NOTHING
        self._equals = False
        self._clause: int | None = None
        self._brackets: list[tuple[int, int, bool]] = []

    def run(self) -> None:
        """Find them all."""
        walk = self._tokens
        while (kind := walk.next()) != END:
            token = self._text[walk.begin : walk.end]
            if kind == COMMENT:
                if may_hold_password(token) and self._inside(token.strip(b"/*-# \t\n")):
                    self._hide()
            elif kind == UNSURE:
                self._hide()
            elif kind in (STRING, NUMBER):
                self._literal(token, kind == STRING)
            elif kind in (WORD, NAME):
                self._word(token.strip(b"`@").lower())
            elif token[:2] != b"/*" and token not in (b"*", b"/"):  # what encloses code that looks like a comment
                self._sign(token)
        self.open = self._all or self._wants_more()

    def found_any(self) -> bool:
        """Whether there is a password in it, or is to follow."""
        return bool(self.secrets) or self.placeholder or self.open

    def _wants_more(self) -> bool:
        if self._expected == _OPERAND and self._equals:
            return True
        return (self._clause is not None and not self.secrets) or self._bracket_is_secret()

    def _hide(self) -> None:
        self.secrets.append((self._tokens.begin, self._tokens.end))

    # --- what is a password

    def _literal(self, token: bytes, is_string: bool) -> None:
        expected = self._expected
        if expected == _ACCOUNT and not self._all:
            return
        self._expected = _NOTHING
        if self._is_secret(expected, is_string or token[:2].lower() == b"0x"):
            self._hide()
            self._expected = _MORE
            if self._depth and is_string and not _is_closed(token):  # it goes on in what the text is joined with
                self._all = True
        elif is_string:
            self._text_in_quotes(token)
        self._before = b"'"

    def _is_secret(self, expected: int, is_text: bool) -> bool:
        if self._all or self._bracket_is_secret():
            return True
        if expected == _MORE:
            return is_text
        if expected in (_VALUE, _OPERAND):
            return True
        if self._clause is not None:
            return is_text and self._before not in _BEFORE_PLUGIN
        return is_text and self._before == b"replace"  # of SET PASSWORD; nothing else has it

    def _text_in_quotes(self, token: bytes) -> None:
        content = self._content(token)
        if _has_password(content) and token.startswith(b'"'):  # a name in JSON, or with ANSI_QUOTES
            self._expected = _VALUE
        elif _URL.search(content) is not None or (may_hold_password(content) and self._inside(content)):
            self._hide()

    def _inside(self, content: bytes) -> bool:
        """Whether there is a password in a text in quotes or a comment."""
        if self._depth >= _DEEPEST:
            return True
        nested = _Finder(tokens(content, self._escapes, self._charset), self._escapes, self._charset, self._depth + 1)
        nested.run()
        self._all = self._all or nested.open
        return nested.found_any()

    def _content(self, token: bytes) -> bytes:
        """What a string says, as far as it matters here."""
        at = 1 if token[:1] in b"nNxXbB" and token[1:2] == b"'" else 0
        quote = token[at : at + 1]
        content = token[at + 1 : -1 if _is_closed(token) else None].replace(quote * 2, quote)
        return content if self._escapes == NO_ESCAPES else _ESCAPED.sub(rb"\1", content)

    # --- what leads to one

    def _word(self, word: bytes) -> None:
        expected = self._expected
        if expected == _ACCOUNT or (word.startswith(b"_") and expected != _NOTHING):  # a character set before a string
            return
        if expected == _OPERAND and self._equals and self._depth:  # user=x,password=y
            self._hide()
        if _has_password(word):
            self._expected = _VALUE
        elif expected == _VALUE and word == b"for":
            self._expected = _ACCOUNT
        elif expected == _OPERAND:
            self._expected = _CALL
        elif expected != _VALUE or word not in _COMPARING:
            self._expected = _NOTHING
        if self._before == b"identified" and word in _BEGIN_CLAUSE:
            self._clause = len(self._brackets)
        elif word in _END_CLAUSE:
            self._clause = None
        self._before = word

    def _sign(self, sign: bytes) -> None:
        if sign == b"?":
            self.placeholder |= self._is_secret(self._expected, is_text=True)
            self._expected = _NOTHING
        elif sign == b"(":
            self._open_bracket()
        elif sign == b";":
            self._forget()
        elif sign in b",)":
            self._end_argument(sign)
        elif sign in b"=<>!:":
            if self._expected == _VALUE or (self._expected == _ACCOUNT and sign == b"="):
                self._expected = _OPERAND
            self._equals = sign == b"="
        elif sign not in b"+-" and self._expected != _ACCOUNT:
            self._expected = _NOTHING
        self._before = sign

    def _open_bracket(self) -> None:
        first = _FUNCTIONS.get(self._before, -1)
        whole = self._bracket_is_secret() or self._expected in (_OPERAND, _CALL)
        whole = whole or (self._expected == _VALUE and self._before == b"in")
        self._brackets.append((first, 0, whole))
        if self._expected != _ACCOUNT:
            self._expected = _NOTHING

    def _end_argument(self, sign: bytes) -> None:
        if sign == b")":
            if self._brackets:
                self._brackets.pop()
        elif self._brackets:
            first, argument, whole = self._brackets[-1]
            self._brackets[-1] = (first, argument + 1, whole)
        if self._clause is not None and len(self._brackets) <= self._clause - (sign == b")"):
            self._clause = None
        if self._expected != _ACCOUNT:
            self._expected = _NOTHING

    def _bracket_is_secret(self) -> bool:
        if not self._brackets:
            return False
        first, argument, whole = self._brackets[-1]
        return whole or 0 <= first <= argument


def _has_password(name: bytes) -> bool:
    """Whether a name is that of something whose value is a password."""
    name = name.lower().rpartition(b".")[2]
    return name.endswith(_ENDINGS) or name in _NAMES


def _is_closed(token: bytes) -> bool:
    """Whether a string ends with its quote."""
    at = token.index(b"'") if token[:1] in b"nNxXbB" else 0
    return len(token) > at + 1 and token[-1:] == token[at : at + 1]
