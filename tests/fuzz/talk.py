"""A script as a conversation of the classic protocol: what each side sends, whole, damaged, in frames, or lost."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import zstandard

from tests.fuzz.script import Script, damaged
from tests.support import answer_packets as answers
from tests.support import mysql_packets as mysql

CLIENT, SERVER, CLIENT_LOST, SERVER_LOST = range(4)
MOST_STEPS: Final = 40

_TEXTS: Final = (
    b"SELECT 1", b"SELECT 'a', ?", b"INSERT INTO t VALUES (?, ?, ?)", b"USE shop", b"use `a``b`", b"SET NAMES gbk",
    b"SET NAMES 'latin1'", b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t",
    b"/* traceparent='00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' */ SELECT 2",
    b"CALL p()", b"SELECT 1; SELECT 2", b"", b"\0\x01SELECT 3", b"x" * 300,
    b"COMMIT", b"SELECT '" + b"y" * 5000 + b"'",
)  # fmt: skip
_CAPABILITIES: Final = (
    mysql.CLIENT_CAPABILITIES,
    mysql.CLIENT_CAPABILITIES | mysql.QUERY_ATTRIBUTES,
    mysql.CLIENT_CAPABILITIES | 1 << 24,  # DEPRECATE_EOF
    mysql.CLIENT_CAPABILITIES | 1 << 24 | 1 << 23 | mysql.QUERY_ATTRIBUTES,  # SESSION_TRACK
    mysql.CLIENT_CAPABILITIES | 1 << 25 | 1 << 24,  # OPTIONAL_RESULTSET_METADATA
    mysql.CLIENT_CAPABILITIES | mysql.COMPRESS,
    mysql.CLIENT_CAPABILITIES | mysql.ZSTD,
    mysql.PROTOCOL_41,
    mysql.CLIENT_CAPABILITIES | mysql.PLUGIN_AUTH_LENENC,
    0xFFFFFFFF & ~(mysql.SSL | mysql.COMPRESS | mysql.ZSTD),
    mysql.CLIENT_CAPABILITIES & ~1,  # a MariaDB client has its own bits
)
_VALUES: Final = (
    mysql.Bound(mysql.LONG, b"\x01\0\0\0"),
    mysql.Bound(mysql.LONGLONG, b"\xff" * 8, unsigned=True),
    mysql.Bound(mysql.VAR_STRING, mysql.counted(b"value")),
    mysql.Bound(mysql.BLOB, mysql.counted(b"z" * 300)),
    mysql.Bound(mysql.DATETIME, b"\x0b\xe8\x07\x02\x1d\x17\x3b\x3b\x78\0\0\0"),
    mysql.Bound(mysql.TIME, b"\x08\x01\x02\0\0\0\x03\x04\x05"),
    mysql.Bound(mysql.DOUBLE, b"\0" * 8),
    mysql.Bound(mysql.VAR_STRING, None),
    mysql.Bound(mysql.NEWDECIMAL, mysql.counted(b"1.50")),
    mysql.Bound(mysql.TINY, b"\x80", name=b"traceparent"),
    mysql.Bound(mysql.NULL, None),
    mysql.Bound(mysql.DATE, b"\0"),
    mysql.Bound(mysql.VAR_STRING, b"\xfe" + b"\xff" * 8),
)
_PROXIES: Final = (
    b"PROXY TCP4 192.0.2.7 192.0.2.8 5000 3306\r\n",
    b"PROXY UNKNOWN\r\n",
    b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes(8) + b"\x13\x88\x0c\xea",
    b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0",
    b"PROXY TCP6 ::1 ::1 5000 3306\r\n",
)
_TLS: Final = b"\x16\x03\x01\0\x40" + bytes(64)


class Step(NamedTuple):
    """What one side sends in a segment; *plain* is what stands in its compressed frames."""

    side: int
    data: bytes
    plain: bytes = b""
    certain: bool = True
    """Whether *plain* is what the frames hold: few kinds have a checksum that damage would not pass."""


def _text(script: Script) -> bytes:
    size = script.byte()
    return _TEXTS[size & 15] if size & 0x80 else script.take(size)


def _bound(script: Script) -> list[mysql.Bound]:
    return [script.pick(_VALUES) for _ in range(script.byte() % 6)]


def _id(script: Script) -> int:
    return (1, 1, 1, 2, 3, 0xFFFFFFFF, 0, 0xFFFFFFFE)[script.byte() & 7]


def _login(script: Script) -> bytes:
    flags = script.byte()
    return mysql.login(
        (b"app", b"", b"u" * 300, b"\xff\0x")[flags & 3],
        database=b"shop" if flags & 4 else None,
        capabilities=script.pick(_CAPABILITIES),
        charset=(mysql.UTF8MB4, mysql.LATIN1, 28, 255)[flags >> 3 & 3],
        pairs={"program_name": "till"} if flags & 32 else None,
        proof=b"p" * (20 if flags & 64 else 0),
    )


_FROM_CLIENT: Final[tuple[Callable[[Script], bytes], ...]] = (
    lambda s: mysql.query(_text(s)),
    lambda s: mysql.query(_text(s)),
    lambda s: mysql.query_with_attributes(_text(s), _bound(s)),
    lambda s: mysql.prepare(_text(s)),
    lambda s: mysql.execute(_id(s), _bound(s)),
    lambda s: mysql.execute(_id(s), _bound(s), types=False),
    lambda s: mysql.execute_with_attributes(_id(s), _bound(s), _bound(s), types=bool(s.byte() & 1)),
    lambda s: mysql.long_data(_id(s), s.byte() & 3, s.piece()),
    lambda s: mysql.of_statement((0x19, 0x1A, 0x1C, 0xFA)[s.byte() & 3], _id(s), s.take(4)),
    lambda s: mysql.change_user(_text(s)[:60], database=_text(s)[:40], charset=mysql.LATIN1 if s.byte() & 1 else None),
    lambda s: mysql.command(2, _text(s)),
    lambda s: mysql.command(s.byte(), s.piece()),
    lambda s: mysql.packet(s.byte(), s.piece()),
    lambda s: s.piece(),
    lambda s: mysql.command((0x0E, 0x1F, 0x01, 0x09)[s.byte() & 3]),
    lambda s: mysql.packet(s.byte(), b""),
    lambda _: _TLS,
    lambda s: s.pick(_PROXIES),
    _login,
    lambda _: mysql.ssl_request(),
    lambda s: mysql.login_320(_text(s)[:40], database=b"shop" if s.byte() & 1 else None),
    lambda s: b"\xff\xff\xff" + bytes((s.byte(),)) + s.piece(),
    lambda s: mysql.query(_text(s)) + mysql.query(_text(s)) + mysql.prepare(_text(s)),
    lambda s: mysql.command(0xFA, struct.pack("<IH", _id(s), s.byte() << 6) + s.piece()),  # MariaDB's BULK_EXECUTE
)
_FROM_SERVER: Final[tuple[Callable[[Script], bytes], ...]] = (
    lambda s: mysql.ok(s.byte(), s.byte(), s.byte()),
    lambda s: mysql.ok(sequence=s.byte()),
    lambda s: mysql.error(s.number(2), s.piece(), b"42000" if s.byte() & 1 else None, sequence=1 + (s.byte() & 1)),
    lambda s: mysql.eof(s.byte(), sequence=s.byte()),
    lambda s: mysql.result(s.byte()),
    lambda s: answers.stream(
        answers.result(
            [answers.text_row(s.piece(), None)] * (s.byte() % 4), columns=1 + s.byte() % 3,
            status=2 | s.byte() << 3, deprecated=bool(s.byte() & 1),
        )
    ),
    lambda s: mysql.prepare_ok(_id(s), s.byte() % 8, columns=s.byte() & 3),
    lambda s: answers.stream(answers.prepared(_id(s), s.byte() % 5, s.byte() % 3, deprecated=bool(s.byte() & 1))),
    lambda s: mysql.local_infile(sequence=1 + (s.byte() & 3)),
    lambda s: answers.stream([answers.ok(status=2 | s.number(2) & 0x48F8, info=_text(s)[:200])]),
    lambda s: answers.stream([answers.ok(changes=answers.change(s.byte() % 7, _text(s)[:60], s.piece()[:60]))]),
    lambda _: answers.stream([answers.progress()]),
    lambda s: mysql.packet(s.byte(), b"\xfe" + s.piece()),  # auth switch, or an EOF that is too long
    lambda s: mysql.packet(s.byte(), b"\x01" + s.piece()),
    lambda s: mysql.packet(s.byte(), s.piece()),
    lambda s: s.piece(),
    lambda s: mysql.greeting(protocol=9 + (s.byte() & 1), version=s.pick((b"8.0.36", b"5.5.5-10.11.6-MariaDB", b""))),
    lambda s: answers.stream([answers.binary_row(s.piece()), answers.eof(status=s.number(2))], sequence=s.byte()),
)  # fmt: skip
_CONTRADICTIONS: Final = 8
_FIRST_ROUND: Final = 224
"""From here on the number of what is said stands for several steps that belong together."""


def _prepared(script: Script) -> list[tuple[int, bytes]]:
    """A statement is prepared, gets long data at times, and is executed twice, as far as the counts agree."""
    shape = script.byte()
    statement_id = 1 + (shape & 3)
    values = [script.pick(_VALUES) for _ in range(script.byte() % 12)]
    prepare = mysql.prepare(_text(script))
    prepared = answers.stream(answers.prepared(statement_id, len(values), shape >> 2 & 1))
    extra = [script.pick(_VALUES)] if shape & 16 else []
    execute = mysql.execute_with_attributes if shape & 32 else mysql.execute
    first = execute(statement_id, [*values, *extra])
    again = execute(statement_id, [*values, *extra], types=bool(shape & 64))
    sent = [(CLIENT, prepare), (SERVER, prepared)]
    if shape & 8:
        sent += [(CLIENT, mysql.long_data(statement_id, script.byte() % 3, script.piece())) for _ in range(2)]
    if shape & 128:  # before it is known that it was prepared
        sent = [(CLIENT, prepare), (CLIENT, first), (SERVER, prepared)]
    return [*sent, (CLIENT, first), (SERVER, mysql.ok()), (CLIENT, again), (SERVER, mysql.result())]


def framed(script: Script, side: int, data: bytes, algorithm: int, number: int) -> Step:
    """*data* in one compressed frame or two: page_protocol_basic_compression_packet; at times it contradicts itself."""
    how = script.byte()
    pieces = [data[: len(data) // 2], data[len(data) // 2 :]] if how & 1 else [data]
    whole = b""
    for piece in pieces:
        if how & 2 or not piece:
            packed, length = piece, 0
        else:
            packed = zlib.compress(piece, 1) if algorithm == 1 else zstandard.ZstdCompressor(1).compress(piece)
            length = len(piece) + (how >> 4 if how & _CONTRADICTIONS else 0)
        whole += struct.pack("<I", len(packed) | (number & 0xFF) << 24) + length.to_bytes(3, "little") + packed
    return Step(side, damaged(script, whole), data, certain=False) if how & 4 else Step(side, whole, data)


def steps(script: Script) -> Iterator[Step]:
    """The conversation: a beginning, whose first byte tells how far it comes, then what the script says."""
    mode = script.byte()
    frames = (0, 0, 0, 0, 0, 0, 1, 2)[mode & 7]
    if mode & 0x30:
        yield Step(SERVER, mysql.greeting(capabilities=0xFFFFFFFF if mode & 0x80 else mysql.SERVER_CAPABILITIES))
        capabilities = (mysql.COMPRESS, mysql.ZSTD)[frames - 1] if frames else 0
        yield Step(CLIENT, mysql.login(capabilities=script.pick(_CAPABILITIES) | capabilities))
        if mode & 0x40:
            yield Step(SERVER, mysql.ok(sequence=2))
    for number in range(MOST_STEPS):
        if script.over:
            return
        choice = script.byte()
        which = script.byte()
        if which >= _FIRST_ROUND:
            said = _prepared(script)
        else:
            table = _FROM_SERVER if choice & 1 else _FROM_CLIENT
            said = [(choice & 1, table[which % len(table)](script))]
        for side, made in said:
            data = damaged(script, made) if choice & 0xC0 == 0xC0 else made
            framing = frames and not choice & 0x20
            step = framed(script, side, data, frames, number) if framing else Step(side, data)
            yield step._replace(side=side + 2) if choice & 0x1E == 0x1E else step


def check_texts(texts: Iterable[bytes | None], script: Sequence[Step]) -> None:
    """Each text was sent. *script* is as it was written: of a step that was hurt nothing may be left to be played."""
    if not all(step.certain for step in script):
        return
    clear = b"".join(step.data for step in script if step.side in {CLIENT, CLIENT_LOST})
    inside = b"".join(step.plain for step in script if step.side in {CLIENT, CLIENT_LOST})
    for text in texts:
        if text is not None and text not in clear and text not in inside:
            raise AssertionError(f"a statement that nobody sent: {text[:100]!r}")
