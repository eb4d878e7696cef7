"""Of any text the tokens cover all but blanks; no byte of a literal is left by masking, no password without it."""

from __future__ import annotations

from typing import Final

from tests.fuzz.script import Script
from workers.sql.fingerprint import fingerprint
from workers.sql.mask import masked
from workers.sql.passwords import holds_password, without_passwords
from workers.sql.tokens import END, ESCAPES, NO_ESCAPES, UNKNOWN, UNSURE, tokens

_MARK: Final = b"\xe2\x82\xac"
"""Stands in literals alone,"""
_PASSWORD: Final = b"\xe2\x82\xad"
"""and this in passwords."""
_BLANKS: Final = b" \t\n\v\f\r"
_CODE: Final = (
    b"SELECT ", b"a", b"t1", b"1", b"1e5", b".5", b"0x41", b"`b'`", b"@v", b"(", b")", b",", b"=", b"+", b".", b"?",
    b";", b"\n", b"/*!50000 ", b"*/", b"/*+", b"/*M!", b"_utf8mb4", b"N", b"x", b"DATE ", b"IDENTIFIED BY",
    b"PASSWORD =", b"\xa0",
)  # fmt: skip
_INSIDE: Final = (b"a", b" ", b"''", b'""', b"\\\\", b"\\n", b"*/", b"/*", b"--", b"#", b"`", b"$$", b"\x95", b"%")
_LEADS: Final = (
    b"CREATE USER a IDENTIFIED BY ", b"SET PASSWORD = ", b"SET PASSWORD FOR 'u'@'h' = ",
    b"CHANGE MASTER TO MASTER_PASSWORD=", b"SELECT PASSWORD(", b"SELECT AES_ENCRYPT('a',", b"IDENTIFIED/**/WITH p AS ",
    b"CREATE SERVER s OPTIONS(PASSWORD ",
)  # fmt: skip
_CHARSETS: Final = (None, "utf8mb4", "latin1", "gbk", "sjis")
_ESCAPES: Final = (UNKNOWN, ESCAPES, NO_ESCAPES)


def _literal(script: Script, mark: bytes) -> bytes:
    """A whole one with the mark in it, whatever the quotes; backslashes come in pairs or before letters."""
    quote = script.pick((b"'", b'"'))
    pieces = [script.pick(_INSIDE) for _ in range(script.byte() % 4)]
    other = b'""' if quote == b"'" else b"''"
    inside = b"".join(b"" if piece == other else piece for piece in pieces)
    return quote + inside + mark + inside + quote


def _check_tokens(text: bytes, escapes: int, charset: str | None) -> int:
    walk = tokens(text, escapes, charset)
    at = count = 0
    while walk.next() != END:
        assert not text[at : walk.begin].strip(_BLANKS)
        assert at <= walk.begin < walk.end <= len(text)
        assert walk.kind != UNSURE or walk.end == len(text)
        at = walk.end
        count += 1
    assert not text[at:].strip(_BLANKS)
    return count


def _statement(script: Script) -> bytes:
    """Code with literals, and a statement with a password behind it, perhaps cut."""
    how = script.byte()
    pieces = []
    for _ in range(how & 7):
        pieces += [script.pick(_CODE), b" ", _literal(script, _MARK) if script.byte() & 1 else b""]
    pieces += [b";", script.pick(_LEADS), _literal(script, _PASSWORD)]
    text = b"".join(pieces)
    return text[: script.byte() * 2] if how & 0x80 else text


def run(data: bytes) -> int:
    """One input; what came of it in short."""
    script = Script(data)
    charset, escapes = script.pick(_CHARSETS), script.pick(_ESCAPES)
    is_any = script.byte() & 3 == 3
    text = script.rest() if is_any else _statement(script)
    shown = masked(tokens(text, escapes, charset))
    hidden = without_passwords(text, escapes, charset).text
    assert is_any or not (_MARK in shown or _PASSWORD in shown or _PASSWORD in hidden)
    assert masked(tokens(shown, escapes, charset)) == shown
    holds_password(text)
    count = _check_tokens(text, escapes, charset)
    return hash((count, len(shown), hidden is text, len(fingerprint(text)) > len(shown)))


SEEDS: Final = {
    "code": bytes((1, 1, 0, 0x03, 0, 1, 0, 1, 2, 3, 5, 1, 1, 2, 7)),
    "password": bytes((1, 1, 0, 0x01, 3, 1, 0, 2, 4, 6, 2, 0, 1, 3)),
    "cut": bytes((0, 0, 0, 0x84, 0, 1, 0, 1, 2, 3, 5, 1, 1, 2, 7, 40, 9, 12)),
    "raw": b"\0\0\3SELECT 'it''s', \"a\\\"b\", /*! 1 */ 0x41, $$a$$ -- b\n",
    "gbk": b"\3\0\3SELECT '\x95\\' OR 1 -- '",
    "nested": b"\1\1\3PREPARE s FROM 'SET PASSWORD = ''x''', CONCAT('IDENTIFIED BY \"', 'y')",
}
"""Where a corpus begins."""
