"""Plays what it is told to one build, in a process of its own: length and msgpack in, length and msgpack out.

Run with the folder of a build on PYTHONPATH and PYTHONSAFEPATH set; `tests` is found behind it.
"""

from __future__ import annotations

import dataclasses
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgpack

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)  # last, so that a compiled build is not hidden

from tests.support import builds  # noqa: E402
from tests.support.play import run  # noqa: E402
from workers.area import Area  # noqa: E402
from workers.checkpoint import Checkpoint  # noqa: E402
from workers.mysql import attributes, commands, prepared  # noqa: E402
from workers.mysql.errors import StreamViolation  # noqa: E402
from workers.mysql.events import Exchange  # noqa: E402
from workers.mysql.framing import Allowance, Framing  # noqa: E402
from workers.pipeline import Pipeline  # noqa: E402
from workers.settings import Responses, Settings  # noqa: E402
from workers.sql.fingerprint import fingerprint  # noqa: E402
from workers.sql.firstlook import may_hold_password  # noqa: E402
from workers.sql.mask import masked  # noqa: E402
from workers.sql.passwords import without_passwords  # noqa: E402
from workers.sql.tokens import END, ESCAPES, NO_ESCAPES, UNKNOWN, tokens  # noqa: E402

SIZE = struct.Struct("<I")


def conversation(script: list[Any], from_start: bool, answers: bool, keep: int, allowance: int) -> list[Any]:
    """What MySQLConversation reports of a script's parts."""
    played = run([(side, what, at, ack) for side, what, at, ack in script], from_start, answers, keep, allowance)
    rows = [[str(value) for value in dataclasses.asdict(said).values()] for said in played.said]
    for row, said in zip(rows, played.said, strict=True):
        row.append(str(sorted(said.flags)))
        del row[5]  # the flags as a set, whose order differs between processes
    return [rows, *(str(part) for part in played[1:])]


def pipeline(packets: list[Any], settings: dict[str, Any], tick_every: int) -> list[Any]:
    """The blocks and counters that the packets lead to."""
    worker = Pipeline(1, 2, Settings(**{**settings, "ports": tuple(settings["ports"])}))
    blocks, counters, now_ns = [], [], 0
    for number, (data, time_ns, wire_length) in enumerate(packets, 1):
        now_ns = time_ns
        worker.packet(b"\xee" + data + b"\xee", 1, 1 + len(data), time_ns, wire_length)
        counters.append(list(worker.counters().values()))
        if worker.full or number % tick_every == 0:
            worker.tick(time_ns)
            blocks.append(worker.take_block(time_ns))
    blocks.append(worker.take_block(now_ns, final=True))
    return [blocks, counters, list(worker.counters().items())]


def taken_over(packets: list[Any], ends: list[int], responses: str, room: int) -> list[Any]:
    """What pipelines make of the packets, and leave: each is given up at one of *ends*, where the next takes over."""
    memory = bytearray(room)
    found: list[Any] = []
    begin = 0
    for end in (*sorted(ends), len(packets)):
        worker = Pipeline(1, 2, Settings(ports=(3306,), responses=cast("Responses", responses)))
        worker.take_over(Checkpoint(Area(memoryview(memory))))
        now_ns = 0
        for number, (data, now_ns, wire_length) in enumerate(packets[begin:end]):
            worker.packet(data, 0, len(data), now_ns, wire_length)
            if number % 7 == 0:
                worker.save()
        worker.save()
        found += [worker.take_block(now_ns, final=True), list(worker.counters().items()), bytes(memory)]
        begin = end
    return found


def leaves(data: bytes, count: int) -> list[Any]:
    """What the leaf functions make of the bytes, from every place on."""
    found: list[Any] = []
    for at in range(len(data)):
        for ask in (
            lambda at: commands.is_boundary(data, at, len(data)),
            lambda at: commands.is_tls_record(data, at, len(data)),
            lambda at: _attributes(lambda into: attributes.take_before_text(into, data, at, len(data))),
            lambda at: _attributes(
                lambda into: attributes.take_behind_values(into, prepared.Prepared(b"", 0, count), data, at, len(data))
            ),
            lambda at: _attributes(lambda into: attributes.take_behind_values(into, None, data, at, len(data))),
            lambda at: prepared.skip_value(data, at, len(data), data[at]),
            lambda at: commands.database_chosen(data[at:]),
            lambda at: commands.database_named(data[at:]),
            lambda at: _hashed(data[at:], count),
        ):
            try:
                found.append(ask(at))
            except (IndexError, StreamViolation) as error:
                found.append(type(error).__name__)
    return found


def _hashed(payload: bytes, count: int) -> list[Any]:
    """Where text begins in a command of which at most *count* bytes are kept, and the hash of it."""
    found: list[Any] = []
    for attributes_before in (-1, 0, 1):
        framing = Framing(count, Allowance(2 * count))
        sent = struct.pack("<I", len(payload)) + payload
        for segment in (sent[:-1], sent[-1:]):
            at = 0
            while at < len(segment):
                at = framing.next(segment, at, len(segment))
                if framing.full:
                    found.append(attributes.text_begins(Exchange(), framing, attributes_before))
                    framing.hash_from(max(found[-1], 0))
        start = attributes.text_begins(Exchange(), framing, attributes_before)
        found += [start, framing.complete, framing.cut, framing.length, framing.sha256(max(start, 0))]
    return found


def _attributes(take: Callable[[Exchange], int]) -> list[Any]:
    exchange = Exchange()
    return [take(exchange), exchange.query_attributes]


def sql(text: bytes) -> list[Any]:
    """What is made of SQL text in each way to read it."""
    found: list[Any] = [fingerprint(text), may_hold_password(text)]
    for escapes in (UNKNOWN, ESCAPES, NO_ESCAPES):
        for charset in (None, "utf8mb4", "gbk"):
            walk = tokens(text, escapes, charset)
            while walk.next() != END:
                found.append([walk.kind, walk.begin, walk.end])
            found += [masked(tokens(text, escapes, charset)), *without_passwords(text, escapes, charset)]
    return found


PLAYS: dict[str, Callable[..., object]] = {
    "conversation": conversation, "pipeline": pipeline, "leaves": leaves, "taken_over": taken_over, "sql": sql,
}  # fmt: skip


def serve(asked: BinaryIO, answered: BinaryIO) -> None:
    """Say which build this is, then answer until nothing more is asked."""
    _send(answered, builds.under_test())
    while header := asked.read(SIZE.size):
        name, arguments = msgpack.unpackb(asked.read(*SIZE.unpack(header)), strict_map_key=False)
        _send(answered, PLAYS[name](*arguments))


def _send(answered: BinaryIO, value: object) -> None:
    packed = msgpack.packb(value)
    answered.write(SIZE.pack(len(packed)) + packed)
    answered.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
