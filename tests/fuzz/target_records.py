"""A hostile block is read, or refused with BlockError and nothing else; what is read can be printed and summed up."""

from __future__ import annotations

import itertools
import json
import struct
from typing import Any, Final

import msgpack

from collector.reading.formats import FORMATS, encode
from collector.reading.lines import render_json
from collector.reading.load import Grouping
from collector.reading.search import Search
from collector.reading.selection import Selection
from tests.fuzz.script import Script, damaged
from tests.support import mysql_packets as mysql
from tests.support.packets import Connection
from tests.support.play import START_NS
from workers import records
from workers.columns import Columns
from workers.pipeline import Pipeline
from workers.settings import Settings

_SEARCH: Final = Search(text="e", statuses=frozenset({"ok", "error", "result", "unknown"}))
_MOST_READ: Final = 300
"""Statements of one input: a short body may claim 2**18 rows."""
_NUMBERS: Final = (
    0, 1, 2, 255, 256, 65535, 1 << 18, (1 << 18) + 1, 1 << 31, 1 << 32, 1 << 62, (1 << 63) - 1, (1 << 64) - 1,
)  # fmt: skip
_OTHERS: Final[tuple[object, ...]] = (
    None, True, -1, 1.5, "text", b"", b"\0" * 9, [], [1], {}, {"a": b""}, [b"\x80"], [b""],
)  # fmt: skip


def _template() -> dict[str, Any]:
    """The body of a block with a statement of each kind."""
    both = Connection()
    pipeline = Pipeline(0, 0, Settings(ports=(3306,)))
    bound = [
        mysql.Bound(mysql.LONG, b"\1\0\0\0"), mysql.Bound(mysql.VAR_STRING, mysql.counted(b"\xffabc")),
        mysql.Bound(mysql.DATETIME, b"\x0b\xe8\x07\x02\x1d\x17\x3b\x3b\x78\0\0\0"), mysql.Bound(mysql.TIME, None),
        mysql.Bound(mysql.TIME, b"\x08\x01\x02\0\0\0\x03\x04\x05"),
        mysql.Bound(mysql.NEWDECIMAL, mysql.counted(b"1.5")),
        mysql.Bound(mysql.DOUBLE, b"\0" * 6 + b"\xf0\x7f"), mysql.Bound(mysql.BIT, mysql.counted(b"\1")),
    ]  # fmt: skip
    packets = [
        *both.open(), both.server(mysql.greeting()), both.client(mysql.login(pairs={"program_name": "till"})),
        both.server(mysql.ok(sequence=2)), both.client(mysql.query(b"SELECT '\xff'")), both.server(mysql.result()),
        both.client(mysql.query(b"SELEC")), both.server(mysql.error(1064, b"You have an error")),
        both.client(mysql.prepare(b"SELECT ?")), both.server(mysql.prepare_ok(1, len(bound))),
        both.client(mysql.execute(1, bound)), both.server(mysql.ok(3, 4, 5)), both.client(mysql.command(1)),
    ]  # fmt: skip
    for number, packet in enumerate(packets):
        pipeline.packet(packet, 0, len(packet), START_NS + number, len(packet))
    found: dict[str, Any] = msgpack.unpackb(pipeline.take_block(START_NS, final=True)[1])
    return found


_TEMPLATE: Final = _template()
_KEYS: Final = tuple(sorted(_TEMPLATE))
_COLUMNS: Final = (*sorted(_TEMPLATE["columns"]), "database", "error_code", "sql_cut", "sql_sha256", "flags", "unknown")
_SESSION: Final[dict[str, Any]] = msgpack.unpackb(_TEMPLATE["sessions"][0])
_SESSION_KEYS: Final = (*sorted(_SESSION), "tls", "connection_id")


def _column(script: Script, rows: int) -> bytes:
    how = script.byte()
    if how & 1:
        return script.piece()
    values = [script.pick(_NUMBERS) if how & 2 else script.byte() for _ in range(min(rows, 16))]
    slots = struct.pack(f"<{len(values)}Q", *values)
    planes = (1, 2, 4, 8)[how >> 2 & 3]
    return b"".join(slots[plane::8] for plane in range(planes))


def _value(script: Script) -> object:
    how = script.byte()
    if how < 0x60:
        return script.pick(_NUMBERS)
    if how < 0xC0:
        return script.piece()
    return script.pick(_OTHERS)


def _body(script: Script) -> bytes:
    """A block as a worker writes it, some of its parts replaced."""
    shape = script.byte()
    if shape & 0xC0 == 0xC0:
        return script.rest()
    parts = dict(_TEMPLATE)
    parts["columns"] = dict(parts["columns"])
    for _ in range(shape & 7):
        what = script.byte() % 6
        if what == 0:
            parts[script.pick(_KEYS)] = _value(script)
        elif what == 1:
            parts["rows"] = script.byte()
        elif what == 2 and isinstance(parts.get("columns"), dict):
            rows = parts["rows"] if isinstance(parts["rows"], int) else 0
            parts["columns"][script.pick(_COLUMNS)] = _column(script, rows)
        elif what == 3 and isinstance(parts.get("columns"), dict):
            parts["columns"].pop(script.pick(_COLUMNS), None)
        elif what == 4:
            session = dict(_SESSION)
            session[script.pick(_SESSION_KEYS)] = _value(script)
            packed = msgpack.packb(session)
            parts["sessions"] = [damaged(script, packed) if script.byte() & 1 else packed]
        else:
            name = ("parameters", "error", "sql")[script.byte() % 3]
            if isinstance(parts[name], bytes):
                parts[name] = damaged(script, parts[name])
    whole: bytes = msgpack.packb(parts)
    return damaged(script, whole) if shape & 0x10 else whole


def run(data: bytes) -> int:
    """One input; what came of it in short."""
    script = Script(data)
    said: list[object] = []
    body = _body(script)
    try:
        for one in itertools.islice(records.statements(body), _MOST_READ):
            line = render_json(one, "db1", raw=True)
            assert "\n" not in line
            assert all(encode(form.render(one, "db1", False)) for form in FORMATS.values())
            if len(said) < 8:
                said.append((one.command, one.status, one.parameters is None, len(json.loads(line))))
    except records.BlockError as error:
        said.append("".join(sign for sign in str(error) if sign.isalpha())[:50])
    said.append(_summed(body))
    return hash(tuple(said))


def _summed(body: bytes) -> int:
    """How many rows a search finds by columns, summed up by their shapes."""
    try:
        columns = Columns(body)
        rows = Selection(_SEARCH).rows(columns)[:_MOST_READ]
        loads = Grouping("shape").loads(columns, rows, "db1")
    except records.BlockError:
        return -1
    assert sum(load.count for load in loads.values()) == len(rows)
    return len(rows)


SEEDS: Final = {
    "whole": bytes((0,)),
    "rows": bytes((1, 1, 200)),
    "columns": bytes((2, 2, 3, 2, 1, 2, 3, 2, 7, 8, 4, 5, 6)),
    "strings": bytes((1, 0, 7, 0xC5, 1)),
    "sessions": bytes((2, 4, 3, 0x70, 5, 1, 2, 3, 4, 5, 1, 4, 2, 0, 9)),
    "parameters": bytes((3, 5, 0, 0, 3, 0xFB, 5, 0, 7, 9, 2, 5, 0, 0, 0, 255)),
    "damaged": bytes((0x10, 0, 30, 0xFF)),
    "raw": b"\xc0" + msgpack.packb({"format": 1, "rows": 1 << 18, "base_ns": 0, "columns": {}, "sql": b"",
                                    "parameters": b"", "error": b"", "strings": [], "sessions": []}),
}  # fmt: skip
"""Where a corpus begins."""
