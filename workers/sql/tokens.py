r"""The tokens of SQL text as the servers' lexers read them, in every reading that may be the server's.

Source: sql/sql_lex.cc of MySQL and MariaDB, and "Lexical structure" in their manuals. It never fails, whatever the text
is. How text is read depends on what need not be known here: whether backslashes escape (NO_BACKSLASH_ESCAPES), whether
``"`` encloses names, in which none does (ANSI_QUOTES), whether a character set has two-byte characters that end as
``\`` or a backquote, whether the server knows dollar quotes (MySQL 8.0.34), and whether it executes what is in ``/*!``.
All readings that can differ are followed side by side; from where they do, the rest is one token, UNSURE.
"""

import re
from typing import Final

import cython

# Tokens.kind
END: Final = 0
WORD: Final = 1
"""A keyword or a name, or a variable with its ``@``."""
NAME: Final = 2
"""A name in backquotes."""
STRING: Final = 3
"""Text in quotes, with the N, X or B before it; where it does not end, up to the end."""
NUMBER: Final = 4
COMMENT: Final = 5
SIGN: Final = 6
"""A single character, or what opens a comment that is executed or has hints."""
UNSURE: Final = 7
"""The rest of the text, in which the readings differ."""

# How escapes are known.
UNKNOWN: Final = 0
ESCAPES: Final = 1
NO_ESCAPES: Final = 2

_END = cython.declare(cython.int, END)
_WORD = cython.declare(cython.int, WORD)
_NAME = cython.declare(cython.int, NAME)
_STRING = cython.declare(cython.int, STRING)
_NUMBER = cython.declare(cython.int, NUMBER)
_COMMENT = cython.declare(cython.int, COMMENT)
_SIGN = cython.declare(cython.int, SIGN)
_UNSURE = cython.declare(cython.int, UNSURE)

# A reading: the sum of these.
_IN_SINGLE = cython.declare(cython.int, 1)
"""Backslashes escape between single quotes;"""
_IN_DOUBLE = cython.declare(cython.int, 2)
"""between double ones."""
_PAIRS = cython.declare(cython.int, 4)
"""Characters of two bytes as GBK, Big5 and GB 18030 have them;"""
_SJIS = cython.declare(cython.int, 8)
"""as Shift JIS has them."""
_DOLLARS = cython.declare(cython.int, 16)
_LETTERS = cython.declare(cython.int, 32)
"""All bytes above 0x7F belong to names, as in UTF-8."""

_PAIRED: Final = frozenset({"gbk", "big5", "gb18030", "sjis", "cp932"})
_ALL_LETTERS: Final = frozenset({"utf8mb4", "utf8mb3"})
_PAIR: Final = re.compile(rb"[\x81-\xfe][\\`]")
_TAG: Final = re.compile(rb"\$[\w\x80-\xff]*\$")
_SQL_MODE: Final = re.compile(rb"(?i)sql_mode")

# What a byte is.
_PLAIN = cython.declare(cython.int, 0)
_LETTER = cython.declare(cython.int, 1)
_DIGIT = cython.declare(cython.int, 2)
_HIGH = cython.declare(cython.int, 3)
_BLANK = cython.declare(cython.int, 4)


def _kinds() -> bytes:
    kinds = bytearray(256)
    for byte in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$":
        kinds[byte] = 1
    for byte in b"0123456789":
        kinds[byte] = 2
    for byte in range(0x80, 0x100):
        kinds[byte] = 3
    for byte in b" \t\n\v\f\r":
        kinds[byte] = 4
    return bytes(kinds)


_KINDS = cython.declare(bytes, _kinds())


@cython.final
@cython.cclass
class Tokens:
    """Walks over a text: after next(), ``text[begin:end]`` is a token of ``kind``.

    Promises, each pinned by a property test: tokens come in order and lie apart, with white space alone between them;
    no byte of a literal, in any reading that may be the server's, stands outside of STRING, NUMBER, COMMENT and UNSURE.
    """

    text: bytes
    kind: cython.int
    begin: cython.Py_ssize_t
    end: cython.Py_ssize_t
    _size: cython.Py_ssize_t
    _reading: cython.int
    _versioned: cython.bint
    _member: cython.bint
    _others: list["Tokens"] | None

    def __init__(self, text: bytes, reading: int) -> None:
        self.text = text
        self._size = len(text)
        self._reading = reading
        self.kind = _END
        self.begin = self.end = 0
        self._versioned = self._member = False
        self._others = None

    @cython.ccall
    @cython.exceptval(-1)
    def next(self) -> cython.int:
        """Go to the next token; its kind, END behind the last."""
        other: Tokens
        self._step()
        if self._others is not None:
            for other in self._others:
                other._step()
                if other.end != self.end or other.begin != self.begin or other.kind != self.kind:
                    self.begin = min(self.begin, other.begin)
                    self._give_up()
                    self._others = None
                    break
        return self.kind

    @cython.cfunc
    def _give_up(self) -> cython.int:
        self.kind = _UNSURE if self.begin < self._size else _END
        self.end = self._size
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _step(self) -> cython.int:
        text: bytes = self.text
        at: cython.Py_ssize_t = self.end
        member: cython.bint = self._member
        after_word: cython.bint = self.kind == _WORD and not (at and self._may_be_blank(text[at - 1]))
        self._member = False
        while at < self._size and _KINDS[text[at]] == _BLANK:
            at += 1
            after_word = False
        self.begin = at
        if at >= self._size:
            self.kind = _END
            self.end = self._size
            return 0
        first: cython.uint = text[at]
        kind: cython.int = _KINDS[first]
        if kind == _LETTER or kind == _HIGH or (kind == _DIGIT and member):
            self._word(first)
        elif kind == _DIGIT:
            self._number()
        elif first == 0x27 or first == 0x22 or first == 0x60:  # ' " `
            self._quoted(at, first)
        elif first == 0x2E:  # .
            self._point(after_word)
        else:
            self._other(first)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _byte(self, at: cython.Py_ssize_t) -> cython.uint:
        """The byte there; 0 behind the end."""
        return self.text[at] if at < self._size else 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _may_be_blank(self, byte: cython.uint) -> cython.bint:
        """Whether a byte that is taken for part of a name is a blank or a sign in some character sets."""
        return _KINDS[byte] == _HIGH and not self._reading & _LETTERS

    @cython.cfunc
    @cython.exceptval(-1)
    def _ends(self, at: cython.Py_ssize_t) -> cython.bint:
        """Whether a number can end at *at*, as what follows is no part of it."""
        kind: cython.int = _KINDS[self._byte(at)]
        return at >= self._size or kind == _PLAIN or kind == _BLANK or self._may_be_blank(self._byte(at))

    @cython.cfunc
    @cython.exceptval(-1)
    def _is(self, kind: cython.int, end: cython.Py_ssize_t) -> cython.int:
        self.kind = kind
        self.end = end
        return 0

    # --- words and numbers

    @cython.cfunc
    @cython.exceptval(-1)
    def _word(self, first: cython.uint) -> cython.int:
        text: bytes = self.text
        at: cython.Py_ssize_t = self.begin
        low: cython.uint = first | 0x20
        if (low == 0x6E or low == 0x78 or low == 0x62) and self._byte(at + 1) == 0x27:  # n' x' b'
            return self._quoted(at + 1, 0x27)
        if first == 0x24 and self._reading & _DOLLARS:
            tag: bytes = _dollar_tag(text, at)
            if tag:
                found: cython.Py_ssize_t = text.find(tag, at + len(tag))
                return self._is(_STRING, self._size if found < 0 else found + len(tag))
        return self._is(_WORD, self._word_end(at))

    @cython.cfunc
    @cython.exceptval(-1)
    def _word_end(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Where the name ends that goes on at *at*. Behind a byte that may be a blank digits begin a number."""
        text: bytes = self.text
        kind: cython.int
        before: cython.uint = 0
        while at < self._size:
            kind = _KINDS[text[at]]
            if kind == _PLAIN or kind == _BLANK or (kind == _DIGIT and self._may_be_blank(before)):
                break
            before = text[at]
            at += 1
        return at

    @cython.cfunc
    @cython.exceptval(-1)
    def _digits(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        text: bytes = self.text
        while at < self._size and _KINDS[text[at]] == _DIGIT:
            at += 1
        return at

    @cython.cfunc
    @cython.exceptval(-1)
    def _number(self) -> cython.int:
        """A number, or a name that begins with a digit."""
        text: bytes = self.text
        at: cython.Py_ssize_t = self.begin
        end: cython.Py_ssize_t
        second: cython.uint = self._byte(at + 1) | 0x20
        if text[at] == 0x30 and (second == 0x78 or second == 0x62):  # 0x 0b
            end = self._radix(at + 2, second == 0x78)
            if end > at + 2 and self._ends(end):
                return self._is(_NUMBER, end)
            return self._is(_WORD, self._word_end(at))
        end = self._digits(at)
        if self._byte(end) == 0x2E:  # 1. or 1.5
            return self._is(_NUMBER, self._exponent(self._digits(end + 1)))
        after: cython.Py_ssize_t = self._exponent(end)
        if after > end or self._ends(end):
            return self._is(_NUMBER, after)
        return self._is(_WORD, self._word_end(end))

    @cython.cfunc
    @cython.exceptval(-1)
    def _radix(self, at: cython.Py_ssize_t, hexadecimal: cython.bint) -> cython.Py_ssize_t:
        """Where the hexadecimal or binary digits end."""
        byte: cython.uint
        while at < self._size:
            byte = self.text[at]
            if not (0x30 <= byte <= 0x31 or (hexadecimal and (_KINDS[byte] == _DIGIT or 0x61 <= byte | 0x20 <= 0x66))):
                break
            at += 1
        return at

    @cython.cfunc
    @cython.exceptval(-1)
    def _exponent(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Where the exponent ends that begins at *at*; *at* where none does."""
        sign: cython.Py_ssize_t = at + 1
        if self._byte(at) | 0x20 != 0x65:
            return at
        if self._byte(sign) == 0x2B or self._byte(sign) == 0x2D:
            sign += 1
        end: cython.Py_ssize_t = self._digits(sign)
        return end if end > sign else at

    @cython.cfunc
    @cython.exceptval(-1)
    def _point(self, after_word: cython.bint) -> cython.int:
        at: cython.Py_ssize_t = self.begin
        if after_word:
            self._member = True  # t.1 names a column
        elif _KINDS[self._byte(at + 1)] == _DIGIT:
            return self._is(_NUMBER, self._exponent(self._digits(at + 1)))
        return self._is(_SIGN, at + 1)

    # --- what is quoted, and comments

    @cython.cfunc
    @cython.exceptval(-1)
    def _quoted(self, at: cython.Py_ssize_t, quote: cython.uint) -> cython.int:
        """A string or a name whose quote stands at *at*; a doubled quote is part of it."""
        text: bytes = self.text
        byte: cython.uint
        reading: cython.int = self._reading
        escapes: cython.bint = reading & (_IN_SINGLE if quote == 0x27 else _IN_DOUBLE if quote == 0x22 else 0) != 0
        pairs: cython.bint = reading & (_PAIRS | _SJIS) != 0
        at += 1
        while at < self._size:
            byte = text[at]
            if byte == quote:
                if self._byte(at + 1) != quote:
                    break
                at += 1
            elif (byte == 0x5C and escapes) or (pairs and byte >= 0x81 and self._is_pair(at)):
                at += 1
            at += 1
        self._is(_NAME if quote == 0x60 else _STRING, min(at + 1, self._size))
        return self._check_inside()

    @cython.cfunc
    @cython.exceptval(-1)
    def _is_pair(self, at: cython.Py_ssize_t) -> cython.bint:
        """Whether a character of two bytes stands there."""
        lead: cython.uint = self._byte(at)
        trail: cython.uint = self._byte(at + 1)
        if trail < 0x40 or trail == 0x7F or trail == 0xFF:
            return False
        if self._reading & _SJIS:
            return 0x81 <= lead <= 0x9F or 0xE0 <= lead <= 0xFC
        return 0x81 <= lead <= 0xFE

    @cython.cfunc
    @cython.exceptval(-1)
    def _check_inside(self) -> cython.int:
        """Behind ``/*!`` what has ``*/`` in it does not end there for a server to which that opened a comment."""
        if self._versioned and self.text.find(b"*/", self.begin, self.end) >= 0:
            self._give_up()
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _other(self, first: cython.uint) -> cython.int:
        at: cython.Py_ssize_t = self.begin
        second: cython.uint = self._byte(at + 1)
        if first == 0x23:  # #
            return self._line()
        if first == 0x2D and second == 0x2D:  # --
            third: cython.uint = self._byte(at + 2)
            if third <= 0x20 or third == 0x7F:
                return self._line()
            if 0x80 <= third <= 0xA0:  # a blank or a control character in some character sets
                return self._give_up()
        if first == 0x2F and second == 0x2A:  # /*
            return self._comment()
        if first == 0x40:  # @name, @@name; quoted ones are tokens of their own
            return self._variable()
        return self._is(_SIGN, at + 1)

    @cython.cfunc
    @cython.exceptval(-1)
    def _line(self) -> cython.int:
        """A comment up to the end of the line. What some servers read behind a NUL in it is not known."""
        found: cython.Py_ssize_t = self.text.find(b"\n", self.begin)
        self._is(_COMMENT, self._size if found < 0 else found)
        if self.text.find(b"\0", self.begin, self.end) >= 0:
            return self._give_up()
        return self._check_inside()

    @cython.cfunc
    @cython.exceptval(-1)
    def _comment(self) -> cython.int:
        at: cython.Py_ssize_t = self.begin + 2
        third: cython.uint = self._byte(at)
        if third == 0x2B:  # /*+ hints
            self._versioned = True
            return self._is(_SIGN, at + 1)
        if third == 0x4D and self._byte(at + 1) == 0x21:  # /*M!
            at += 1
            third = 0x21
        if third == 0x21:  # /*!50000: the version is no number
            self._versioned = True
            end: cython.Py_ssize_t = min(self._digits(at + 1), at + 7)
            return self._is(_SIGN, end if end >= at + 6 else at + 1)
        found: cython.Py_ssize_t = self.text.find(b"*/", at)
        return self._is(_COMMENT, self._size if found < 0 else found + 2)

    @cython.cfunc
    @cython.exceptval(-1)
    def _variable(self) -> cython.int:
        at: cython.Py_ssize_t = self.begin + 1
        if self._byte(at) == 0x40:
            at += 1
        at = self._word_end(at)
        while self._byte(at) == 0x2E:
            at = self._word_end(at + 1)
        return self._is(_WORD if at > self.begin + 1 else _SIGN, at)


def _dollar_tag(text: bytes, at: int) -> bytes:
    """What opens a dollar-quoted text at *at*; b"" where nothing does."""
    found = _TAG.match(text, at)
    return b"" if found is None else found[0]


@cython.ccall
def tokens(text: bytes, escapes: cython.int, charset: str | None) -> Tokens:
    """The tokens of *text* in every reading that there can be.

    *escapes*: whether backslashes are known to escape, as a rule. *charset*: the client's, None where unknown.
    """
    if b"\\" not in text and b"$" not in text and text.isascii():
        return Tokens(text, 0)
    return _of_readings(text, escapes, charset)


@cython.ccall
def usual_tokens(text: bytes) -> Tokens:
    """The tokens of *text* in the reading that it has as a rule: backslashes escape, ``"`` encloses strings."""
    return Tokens(text, _IN_SINGLE | _IN_DOUBLE | _LETTERS)


def _of_readings(text: bytes, escapes: int, charset: str | None) -> Tokens:
    pairs: list[int] = [0]
    dollars: list[int] = [_LETTERS if charset in _ALL_LETTERS else 0]
    if (charset is None or charset in _PAIRED) and _PAIR.search(text) is not None:
        pairs += [_PAIRS, _SJIS]
    if _TAG.search(text) is not None:
        dollars.append(dollars[0] | _DOLLARS)
    quotes: list[int] = _quote_readings(text, escapes)
    readings = [quote | pair | dollar for quote in quotes for pair in pairs for dollar in dollars]
    first: Tokens = Tokens(text, readings[0])
    if len(readings) > 1:
        first._others = [Tokens(text, reading) for reading in readings[1:]]
    return first


def _quote_readings(text: bytes, escapes: int) -> list[int]:
    """Where backslashes may escape: in both kinds of quotes, in single ones alone (ANSI_QUOTES), or in neither."""
    readings: list[int] = [_IN_SINGLE | _IN_DOUBLE]
    if b"\\" not in text:
        return readings
    if b'"' in text:
        readings.append(_IN_SINGLE)
    if _SQL_MODE.search(text) is not None:  # it may change in between
        escapes = UNKNOWN
    if escapes == UNKNOWN:
        readings.append(0)
    return [0] if escapes == NO_ESCAPES else readings
