"""Whatever a worker that was taken over leaves of connections, the next one reads packets and keeps its bounds."""

from __future__ import annotations

import struct
from typing import Any, Final

import msgpack

from tests.fuzz.script import Script, damaged
from tests.support import mysql_packets as mysql
from tests.support.packets import Connection
from tests.support.play import START_NS
from workers.area import LEAST_BYTES, Area
from workers.checkpoint import Checkpoint
from workers.pipeline import Pipeline
from workers.settings import Settings

_SETTINGS: Final = Settings(ports=(3306,), max_flows=8, max_buffer_bytes=1 << 18)
_PLACES: Final = (0, 7, 8, 15, 16, 64, 68, 72, 73, 80, LEAST_BYTES // 2)
_OTHERS: Final[tuple[object, ...]] = (
    None, True, -1, 0, 1, 5, 1 << 16, 1 << 62, (1 << 64) - 1, 1.5, "text", b"", b"\0" * 9, b"x" * 1025, b"?" * 70_000,
    [], [[[]]], {}, {1: 2}, list(range(2000)), b"e" * 36,
)  # fmt: skip
_NUMBER: Final = mysql.Bound(mysql.LONG, b"\7\0\0\0")
_TEXT: Final = mysql.Bound(mysql.VAR_STRING, mysql.counted(b"abc"))


def _before() -> tuple[list[list[Any]], list[bytes]]:
    """The records that a worker leaves, and the packets that come after it."""
    both = Connection()
    packets = [
        *both.open(), both.server(mysql.greeting()),
        both.client(mysql.login(database=b"shop", pairs={"program_name": "till"})), both.server(mysql.ok(sequence=2)),
        both.client(mysql.prepare(b"SELECT ?, ?")), both.server(mysql.prepare_ok(1, 2)),
        both.client(mysql.execute(1, [_NUMBER, _TEXT])), both.server(mysql.ok()),
        both.client(mysql.prepare(b"DO 1")), both.server(mysql.prepare_ok(2, 0)),
    ]  # fmt: skip
    view = memoryview(bytearray(LEAST_BYTES))
    pipeline = Pipeline(0, 0, _SETTINGS)
    pipeline.take_over(Checkpoint(Area(view)))
    for number, packet in enumerate(packets):
        pipeline.packet(packet, 0, len(packet), START_NS + number, len(packet))
    pipeline.save()
    unpacker = msgpack.Unpacker()
    for frame in Area(view).read():
        unpacker.feed(frame)
    records = [*unpacker, [3, 1, 2], [4, 1]]
    behind = [
        both.client(mysql.execute(1, [_NUMBER, _TEXT], types=False)), both.server(mysql.ok()),
        both.client(mysql.execute(1, [_TEXT, _NUMBER])), both.server(mysql.ok()), both.client(mysql.execute(2)),
        both.client(mysql.query(b"USE other")), both.server(mysql.ok()), both.client(mysql.of_statement(0x19, 1)),
        both.client(mysql.prepare(b"DO ?")), both.server(mysql.prepare_ok(3, 1)), both.client(mysql.command(1)),
    ]  # fmt: skip
    return records, behind


_RECORDS, _BEHIND = _before()


def _record(script: Script) -> bytes:
    record = list(script.pick(_RECORDS))
    hurt = script.byte()
    if hurt & 0x80 and record:
        record[script.byte() % len(record)] = script.pick(_OTHERS) if hurt & 1 else script.piece()
    if hurt & 0x40:
        record.insert(script.byte() % (len(record) + 1), script.pick(_OTHERS))
    packed: bytes = msgpack.packb(record)
    return damaged(script, packed) if hurt & 0x20 else packed


def run(data: bytes) -> int:
    """One input; what came of it in short."""
    script = Script(data)
    mode = script.byte()
    memory = bytearray(LEAST_BYTES)
    view = memoryview(memory)
    area = Area(view)
    for _ in range(mode & 3):
        count = script.byte() & 7
        frame = script.piece() if count == 7 else b"".join(_record(script) for _ in range(count))
        area.append(frame)
    if mode & 4:
        at = script.pick(_PLACES)
        piece = script.piece()[: LEAST_BYTES - at]
        memory[at : at + len(piece)] = piece
    if mode & 8:
        struct.pack_into("<Q", memory, 8, script.number(8))
    pipeline = Pipeline(0, 0, _SETTINGS)
    checkpoint = Checkpoint(Area(view))
    pipeline.take_over(checkpoint)
    for number, packet in enumerate(_BEHIND[script.byte() % 3 :]):
        pipeline.packet(packet, 0, len(packet), START_NS + number, len(packet))
        if script.byte() & 1:
            pipeline.save()
    pipeline.save()
    again = Checkpoint(Area(view))
    again.read()
    assert not again.damage, "a worker's own writing can be read"
    pipeline.take_block(START_NS, final=True)
    counters = pipeline.counters()
    assert counters["statements_decoded"] == counters["statements_packed"]
    assert pipeline.kept_bytes() == 0
    told = "".join(sign for sign in checkpoint.damage if sign.isalpha())[:50]
    return hash((told, checkpoint.known, again.known, counters["sessions_restored"], counters["parameters_unread"]))


SEEDS: Final = {
    "nothing": bytes(1),
    "whole": bytes((1, 6, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0)),
    "two-frames": bytes((2, 3, 0, 0, 1, 0, 2, 0, 3, 0, 0, 1, 0, 2, 0)),
    "closed": bytes((1, 4, 0, 0, 1, 0, 2, 0, 5, 0)),
    "ended": bytes((1, 3, 0, 0, 6, 0, 6, 0)),
    "replaced-value": bytes((1, 3, 0, 0, 1, 0, 2, 0x81, 4, 3)),
    "damaged-record": bytes((1, 2, 0, 0, 1, 0x20, 0, 9, 200)),
    "damaged-head": bytes((9, 1, 0, 0, 255, 255, 0, 0, 0, 0, 0, 128)),
    "torn": bytes((5, 2, 0, 0, 1, 0, 6, 4, 1, 2, 3, 4)),
}
"""Where a corpus begins."""
