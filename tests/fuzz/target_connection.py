"""A connection of the classic protocol never raises, keeps to its allowance, loses and invents no statement.

Also: neither what stands around a segment in its buffer, nor how the client's bytes are cut, changes what is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.fuzz.script import Script
from tests.fuzz.talk import CLIENT, CLIENT_LOST, SERVER, Step, check_texts, steps
from tests.support.play import ENDS, START_NS
from workers.mysql import events
from workers.mysql.connection import Connection
from workers.mysql.events import Outbox
from workers.mysql.framing import Allowance
from workers.mysql.rules import Rules

_LIMITS: Final = ((1 << 26, 1 << 28), (1 << 20, 1 << 14), (100, 1 << 20), (30, 1000))
"""Bytes kept of a statement, and of all together."""
_WORST_VERDICT: Final = 4
_MOST_PIECES: Final = 600
Heard = tuple[tuple[object, ...], ...]


class _Player:
    def __init__(self, mode: int, limits: tuple[int, int], around: tuple[bytes, bytes]) -> None:
        responses = mode & 3  # none, first, timing, all
        self._whole = responses == 3
        self._allowance = Allowance(limits[1])
        self._limit = limits[1]
        self.outbox = Outbox()
        rules = Rules(limits[0], responses != 0, self._allowance, timed=responses == 2)
        self._connection = Connection(self.outbox, rules, ENDS, bool(mode & 4))
        self._around = around
        self._server_next = 0xFFFFFF00 if mode & 8 else 5000
        self._now_ns = START_NS
        self.verdicts: list[int] = []

    def play(self, script: Sequence[Step]) -> None:
        for step in script:
            self._now_ns += 1000
            self._step(step)
            assert self._allowance.used <= self._limit, "more is kept than is allowed"
            assert self._allowance.remembered <= self._limit // 2, "more is remembered than is allowed"
        self._connection.close()
        assert self._allowance.used == 0, "a connection that is over keeps something"
        assert self._allowance.remembered == 0, "a connection that is over remembers something"
        assert self.outbox.decoded == len(self.outbox.finished), "what was counted is not what is reported"
        assert all(0 <= verdict <= _WORST_VERDICT for verdict in self.verdicts)

    def _step(self, step: Step) -> None:
        connection, now_ns, size = self._connection, self._now_ns, len(step.data)
        before, behind = self._around
        data = before + step.data + behind
        first, last = len(before), len(before) + size
        place = self._server_next
        if step.side == CLIENT:
            if self._whole:
                connection.server_position(place, False)
            self.verdicts.append(connection.client(data, first, last, now_ns, place))
        elif step.side == CLIENT_LOST:
            connection.gap(max(1, size), now_ns, place)
        else:
            self._server_next = (place + size) & 0xFFFFFFFF
            if step.side == SERVER:
                heard = connection.server_stream if self._whole else connection.server
                self.verdicts.append(heard(data, first, last, now_ns, place if self._whole else 0))
            elif self._whole:
                connection.server_gap(max(1, size), self._server_next)

    def heard(self) -> Heard:
        return tuple(
            (one.command, one.status, one.flags, one.text, one.parameters, one.database, one.affected_rows, one.rows,
             one.error_code, one.statement_id, one.bytes_in, one.charset)
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
    talk_mode = data[2] if len(data) > 2 else 0
    written = list(steps(reader))
    script = [step for step in written if step.data]
    player = _Player(mode, _LIMITS[limits & 3], (b"\xee", b"\xff" * 9))
    player.play(script)
    heard = player.heard()
    check_texts((one.text for one in player.outbox.finished), written)
    assert all(one.status <= events.RESULT for one in player.outbox.finished)
    if limits & 0x10:
        other = _Player(mode, _LIMITS[limits & 3], (b"\0" * 7, b"\x03\0\0\0\x03SELECT"))
        other.play(script)
        assert (other.heard(), other.verdicts) == (heard, player.verdicts), "bytes outside of a segment matter"
    elif limits & 0x20 and mode & 4 and not limits & 3 and talk_mode & 7 < 6:
        _check_cuts(mode, script, player, 1 + (limits >> 2 & 3) * 3)
    outbox = player.outbox
    happened = (outbox.desyncs, outbox.unread_parameters, outbox.forgotten_statements, outbox.truncated)
    kinds = frozenset((one.command, one.status, one.parameters is None) for one in outbox.finished[-3:])
    return hash((frozenset(player.verdicts), kinds, tuple(min(count, 2) for count in happened)))


def _check_cuts(mode: int, script: list[Step], player: _Player, size: int) -> None:
    cut = [piece for step in script for piece in _pieces(step, size)]
    session_compresses = any(one.session.compressed for one in player.outbox.finished)
    if len(cut) > _MOST_PIECES or player.outbox.desyncs or session_compresses:
        return
    other = _Player(mode, _LIMITS[0], (b"", b""))
    other.play(cut)
    assert other.heard() == player.heard(), "how the client's bytes are cut matters"


SEEDS: Final = {
    "text": bytes((5, 0, 0x70, 0, 0, 0x80, 0x80, 1, 4, 1, 0, 0x8C, 1, 5, 2, 65, 66, 1, 0, 0, 14, 2)),
    "prepared": bytes((
        4, 32, 0x70, 1, 0, 0x60, 0x81, 1, 7, 0, 2, 0, 0, 0, 0x40, 0, 2, 0, 2, 1, 0, 1, 1, 1, 0, 7,
        0, 1, 1, 65, 0, 5, 0, 0, 0, 8, 0, 0,
    )),
    "infile": bytes((7, 16, 0x70, 0, 0, 0, 0x87, 1, 8, 0, 0, 12, 2, 3, 49, 50, 10, 0, 15, 3, 1, 1, 4)),
    "attributes": bytes((6, 0, 0x70, 1, 0, 2, 0x80, 2, 9, 2, 1, 5, 2, 1, 65, 1, 2)),
    "change-user": bytes((5, 0, 0x70, 0, 0, 9, 3, 114, 111, 111, 0x83, 1, 1, 0, 0, 10, 0x83, 1, 0)),
    "zlib": bytes((4, 32, 0x76, 0, 0, 0, 0x8D, 0, 1, 5, 1, 65, 1, 0, 0, 0, 0, 0, 0x80, 2, 1, 0, 0, 0, 0, 0)),
    "zstd": bytes((7, 16, 0x77, 0, 0, 0, 0x8D, 1, 1, 5, 1, 65, 2, 0, 0, 0, 0, 0, 3, 0x8F, 0)),
    "proxy-and-tls": bytes((6, 0, 0, 0, 17, 2, 1, 16, 0, 0, 0, 19, 0, 16)),
    "late": bytes((5, 0, 0, 0, 0, 0x80, 1, 4, 1, 0, 3, 0x82, 1, 6, 0, 2, 0)),
    "damaged": bytes((
        4, 32, 0x70, 2, 0xC0, 0, 0x82, 5, 3, 1, 0xC1, 5, 3, 65, 66, 67, 1, 2, 0, 0, 2, 5, 1, 0x1E,
        0, 0x80, 0, 0, 0x80,
    )),
    "executed": bytes((5, 0, 0x70, 0, 0, 0xF0, 1, 5, 0, 1, 2, 3, 4, 0x81, 0, 0, 0x80)),
    "long-data": bytes((4, 32, 0x70, 0, 0, 0xF0, 8, 2, 3, 2, 0x81, 0, 3, 97, 98, 99, 1, 2, 100, 101)),
    "executed-with-attributes": bytes((7, 16, 0x70, 1, 0, 0xF0, 0x30, 3, 0, 7, 9, 0x81, 9)),
    "executed-early": bytes((6, 1, 0x70, 0, 0, 0xF0, 0xC0, 4, 0, 1, 2, 10, 0x81)),
    "executed-in-frames": bytes((5, 0, 0x76, 0, 0, 0xF0, 0x41, 4, 0, 6, 11, 10, 0x81, 0, 0, 0, 0, 0, 0, 0)),
}  # fmt: skip
"""Where a corpus begins."""
