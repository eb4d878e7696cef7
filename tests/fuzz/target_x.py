"""A connection of the X Protocol never raises, keeps to its allowance, loses and invents no statement.

Also: neither what stands around a segment in its buffer, nor how the client's bytes are cut, changes what is reported.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import lz4.frame  # type: ignore[import-untyped]  # nobody has written its types down
import zstandard

from tests.fuzz.script import Script, damaged
from tests.fuzz.talk import CLIENT, CLIENT_LOST, SERVER, Step, check_texts
from tests.support import x_packets as x
from tests.support.play import ENDS, START_NS
from workers.mysql.events import Outbox
from workers.mysql.framing import Allowance
from workers.mysql.rules import Rules
from workers.mysqlx.conversation import XConversation
from workers.settings import Responses

_LIMITS: Final = ((1 << 26, 1 << 28), (1 << 20, 1 << 14), (100, 1 << 20), (30, 1000))
_MOST_STEPS: Final = 30
_MOST_PIECES: Final = 400
_SNAPPED: Final = 60
"""Bytes of a server's segment that are there where answers are timed."""
_RESPONSES: Final[tuple[Responses, ...]] = ("first", "timing", "all", "none")
_WORST_VERDICT: Final = 4
_TEXTS: Final = (b"SELECT 1", b"USE shop", b"INSERT INTO t VALUES (?)", b"", b"list_objects", b"x" * 700, b"\xff\0")
_VALUES: Final[tuple[x.Nested, ...]] = (1, -5, 1.5, "text", b"bytes", None, True, {"a": [1, {"b": None}]}, [[["deep"]]])
_DESCRIPTIONS: Final = (b"find", b"insert", b"update", b"delete", b"create_view", b"modify_view", b"drop_view")
"""Texts of messages that have none of their own begin so."""
Packer = Callable[[bytes], bytes]


def _text(script: Script) -> bytes:
    size = script.byte()
    return _TEXTS[size % len(_TEXTS)] if size & 0x80 else script.take(size)


def _values(script: Script) -> list[x.Nested]:
    return [script.pick(_VALUES) for _ in range(script.byte() % 4)]


def _deep(script: Script) -> bytes:
    content = x.anything(1)
    for _ in range(script.byte()):
        content = x.number(1, 3) + x.part(4, x.part(1, content))
    return x.message(x.STMT_EXECUTE, x.part(1, b"SELECT ?") + x.part(2, content))


_FROM_CLIENT: Final[tuple[Callable[[Script], bytes], ...]] = (
    lambda s: x.query(_text(s), *_values(s)),
    lambda s: x.query(_text(s), *_values(s), namespace=s.pick((b"mysqlx", None, b"sql", b"xplugin"))),
    lambda s: x.prepare(s.byte() & 3, _text(s)),
    lambda s: x.execute(s.byte() & 3, *_values(s)),
    lambda s: x.cursor_open(s.byte() & 3, s.byte() & 3, *_values(s)),
    lambda s: x.deallocate(s.byte() & 3),
    lambda s: x.find(_text(s), 1, "a"),
    lambda s: x.insert(_text(s), b"{}"),
    lambda s: x.message(s.byte() % 50, s.piece()),
    lambda s: x.message(s.byte(), s.piece()),
    lambda s: s.piece(),
    lambda s: x.start(s.pick((b"MYSQL41", b"PLAIN", b"")), s.pick((None, b"shop\0app\0secret", b"", b"\0\0"))),
    lambda s: x.proof(_text(s)[:40], _text(s)[:40]),
    lambda _: x.capabilities(tls=True),
    lambda s: x.capabilities(compression={"algorithm": s.pick(("deflate_stream", "zstd_stream", "lz4_message"))}),
    lambda _: x.message(x.RESET),
    lambda _: x.message(x.CLOSE),
    lambda _: b"\x16\x03\x01\0\x40" + bytes(64),
    _deep,
    lambda s: x.message(x.EXPECT_OPEN, s.piece()) + x.message(x.EXPECT_CLOSE),
)
_FROM_SERVER: Final[tuple[Callable[[Script], bytes], ...]] = (
    lambda _: x.ok(),
    lambda s: x.error(s.number(2), _text(s)),
    lambda _: x.challenge(),
    lambda s: x.changed(s.byte() % 14, s.pick((1, -1, "shop", b"b", None, 1 << 64))) + x.authenticated(),
    lambda s: x.executed(s.byte(), s.byte(), x.warning()),
    lambda s: x.result(*[s.piece()] * (s.byte() % 4)),
    lambda s: x.message(s.byte() % 24, s.piece()),
    lambda s: x.notice(s.byte() % 5, s.piece(), local=bool(s.byte() & 1)),
    lambda s: s.piece(),
)


_ALGORITHMS: Final = ("", "deflate_stream", "zstd_stream", "lz4_message")


def _packer(kind: int) -> Packer:
    if kind == 3:
        return lambda data: bytes(lz4.frame.compress(data))
    if kind == 1:
        deflate = zlib.compressobj(1)
        return lambda data: deflate.compress(data) + deflate.flush(zlib.Z_SYNC_FLUSH)
    stream = zstandard.ZstdCompressor(1).compressobj()
    return lambda data: stream.compress(data) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)


def _steps(script: Script) -> Iterator[Step]:
    mode = script.byte()
    packers: list[Packer] = []
    if mode & 3:
        packers = [_packer(mode & 3), _packer(mode & 3)]
        yield Step(CLIENT, x.capabilities(compression={"algorithm": _ALGORITHMS[mode & 3]}))
        yield Step(SERVER, x.ok())
    if mode & 4:
        yield Step(CLIENT, x.start())
        yield Step(SERVER, x.challenge())
        yield Step(CLIENT, x.proof())
        yield Step(SERVER, x.changed(11, 42) + x.authenticated())
    for _ in range(_MOST_STEPS):
        if script.over:
            return
        choice = script.byte()
        side = choice & 1
        made = script.pick(_FROM_SERVER if side else _FROM_CLIENT)(script)
        plain = b""
        if packers and choice & 0x20:
            plain = made
            size = len(made) + (script.byte() if choice & 0x10 else 0)
            made = x.compression(packers[side](made), size, kind=x.SERVER_COMPRESSION if side else x.COMPRESSION)
        hurt = choice & 0xC0 == 0xC0
        step = Step(side, damaged(script, made) if hurt else made, plain, certain=not (hurt and plain))
        yield step._replace(side=side + 2) if choice & 0x1E == 0x1E else step


class _Player:
    def __init__(self, mode: int, responses: Responses, limits: tuple[int, int], around: tuple[bytes, bytes]) -> None:
        self._allowance = Allowance(limits[1])
        self.outbox = Outbox()
        self._responses = responses
        rules = Rules(limits[0], responses != "none", self._allowance, timed=responses == "timing")
        self._conversation = XConversation(self.outbox, rules, ENDS, bool(mode & 4))
        self._around = around
        self._server_next = 5000
        self._now_ns = START_NS
        self.verdicts: list[int] = []

    def play(self, script: Sequence[Step]) -> None:
        limit = self._allowance.limit
        for step in script:
            self._now_ns += 1000
            self._step(step)
            assert self._allowance.used <= limit, "more is kept than is allowed"
            assert self._allowance.remembered <= limit // 2, "more is remembered than is allowed"
        assert not any(one.quiet(1 << 62) for one in self.outbox.lingering), "silence does not end an answer"
        self._conversation.close()
        assert self._allowance.used == 0, "a connection that is over keeps something"
        assert self._allowance.remembered == 0, "a connection that is over remembers something"
        assert self.outbox.decoded == len(self.outbox.finished), "what was counted is not what is reported"
        assert all(0 <= verdict <= _WORST_VERDICT for verdict in self.verdicts)

    def _step(self, step: Step) -> None:
        conversation, size = self._conversation, len(step.data)
        before, behind = self._around
        data, first = before + step.data + behind, len(before)
        if step.side == CLIENT:
            self.verdicts.append(conversation.client(data, first, first + size, self._now_ns, self._server_next))
        elif step.side == CLIENT_LOST:
            conversation.gap(max(1, size), self._now_ns, self._server_next)
        else:
            after = (self._server_next + size) & 0xFFFFFFFF
            if self._responses == "all":
                conversation.server_position(self._server_next, False)
                if step.side == SERVER:
                    verdict = conversation.server_stream(data, first, first + size, self._now_ns, self._server_next)
                    self.verdicts.append(verdict)
                else:
                    conversation.server_gap(size, after)
            elif step.side == SERVER:
                missing = max(0, size - _SNAPPED) if self._responses == "timing" else 0
                end = first + size - missing
                verdict = conversation.server(data, first, end, self._now_ns, missing, self._server_next)
                self.verdicts.append(verdict)
            self._server_next = after

    def heard(self) -> tuple[tuple[object, ...], ...]:
        return tuple(
            (one.command, one.status, one.flags, one.text, one.parameters, one.database, one.affected_rows, one.rows,
             one.error_code, one.statement_id, one.bytes_in, one.bytes_out)
            for one in self.outbox.finished
        )  # fmt: skip


def _pieces(step: Step, size: int) -> list[Step]:
    if step.side != CLIENT:
        return [step]
    return [Step(CLIENT, step.data[at : at + size]) for at in range(0, len(step.data), size)]


def run(data: bytes) -> int:
    """One input; what came of it in short."""
    reader = Script(data)
    mode, limits = reader.byte(), reader.byte()
    written = list(_steps(reader))
    script = [step for step in written if step.data]
    rules = mode, _RESPONSES[limits >> 6], _LIMITS[limits & 3]
    player = _Player(*rules, (b"\xee", b"\xff" * 9))
    player.play(script)
    heard = player.heard()
    texts = (one.text for one in player.outbox.finished)
    check_texts((text for text in texts if text is None or not text.startswith(_DESCRIPTIONS)), written)
    if limits & 0x10:
        other = _Player(*rules, (b"\0" * 7, b"\x06\0\0\0\x0c"))
        other.play(script)
        assert (other.heard(), other.verdicts) == (heard, player.verdicts), "bytes outside of a segment matter"
    elif limits & 0x23 == 0x20 and mode & 4 and not player.outbox.desyncs:
        cut = [piece for step in script for piece in _pieces(step, 1 + (limits >> 2 & 3) * 3)]
        if len(cut) <= _MOST_PIECES:
            other = _Player(*rules, (b"", b""))
            other.play(cut)
            assert other.heard() == heard, "how the client's bytes are cut matters"
    outbox = player.outbox
    happened = (outbox.desyncs, outbox.unread_parameters, outbox.forgotten_statements, outbox.truncated)
    kinds = frozenset((one.command, one.status, one.parameters is None) for one in outbox.finished[-3:])
    return hash((frozenset(player.verdicts), kinds, tuple(min(count, 2) for count in happened)))


SEEDS: Final = {
    "login-and-query": bytes((5, 0, 4, 0, 0, 0x80, 2, 0, 3, 1, 4, 1, 0)),
    "late": bytes((1, 0, 0, 0, 0, 0x80, 1, 0, 1, 5, 2, 65, 66, 1)),
    "prepared": bytes((5, 0x20, 4, 0, 2, 1, 0x82, 1, 0, 0, 3, 1, 2, 3, 4, 1, 5, 1, 65, 2, 0, 5, 1)),
    "deflate": bytes((5, 0, 5, 0x20, 0, 0x82, 1, 0, 0x21, 4, 1, 0, 0x20, 2, 1, 0x80, 0x20, 3, 1, 0)),
    "zstd": bytes((6, 0, 6, 0x20, 0, 0x82, 1, 7, 0x21, 4, 1, 0, 0x20, 6, 0x80)),
    "lz4": bytes((7, 0x80, 7, 0x20, 0, 0x82, 1, 7, 0x21, 5, 3, 2, 65, 66, 0x20, 6, 0x80)),
    "timed": bytes((5, 0x40, 4, 0, 0, 0x80, 1, 5, 3, 4, 9, 9, 9, 9, 1, 5, 0)),
    "whole": bytes((5, 0x80, 4, 0, 0, 0x80, 1, 5, 3, 4, 9, 9, 9, 9, 1, 5, 0, 0, 4, 1, 1)),
    "tls": bytes((5, 0, 4, 0, 13, 1, 0, 0, 17)),
    "deep": bytes((5, 0, 4, 0, 18, 200)),
    "damaged": bytes((5, 0x10, 4, 0xC0, 0, 0x80, 1, 3, 4, 9, 2, 1, 2, 0, 4, 1, 1)),
    "crud": bytes((5, 0x24, 4, 0, 6, 2, 97, 98, 0, 7, 0x83, 1, 5, 1, 99, 1, 0x1E, 0, 0x80, 0, 0, 0, 0x80, 0)),
}
"""Where a corpus begins."""
