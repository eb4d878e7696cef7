"""Hypothesis strategies: conversations that keep to the protocol, and ways to damage what is sent."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hypothesis import strategies as st

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.play import GAP, C, S, Step
from workers.mysql.values import Indicator

_LOAD: Final = b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t"


@dataclass(frozen=True)
class Turn:
    """What the client sends and what it is answered, and what must come out of it: command, text, status, values."""

    client: bytes
    server: bytes
    command: str | None = None
    """None where nothing comes out, or only with the next turn."""
    text: bytes | None = None
    status: str = "unknown"
    values: tuple[object, ...] | None = None

    @property
    def summary(self) -> tuple[str | None, bytes | None, str]:
        return self.command, self.text, self.status


# --- values


def _integers(code: int, size: int, unsigned: bool) -> st.SearchStrategy[tuple[Bound, object]]:
    low, high = (0, 1 << 8 * size) if unsigned else (-(1 << 8 * size - 1), 1 << 8 * size - 1)
    return st.integers(low, high - 1).map(
        lambda value: (Bound(code, value.to_bytes(size, "little", signed=not unsigned), unsigned), value)
    )


_KINDS: Final[list[st.SearchStrategy[tuple[Bound, object]]]] = [
    *[
        _integers(code, size, unsigned)
        for code, size in ((mysql.TINY, 1), (mysql.SHORT, 2), (mysql.LONG, 4), (mysql.LONGLONG, 8))
        for unsigned in (False, True)
    ],
    st.floats(width=32, allow_nan=False).map(lambda value: (Bound(mysql.FLOAT, struct.pack("<f", value)), value)),
    st.floats(allow_nan=False).map(lambda value: (Bound(mysql.DOUBLE, struct.pack("<d", value)), value)),
    st.text(st.characters(codec="utf-8"), max_size=300).map(
        lambda value: (Bound(mysql.VAR_STRING, mysql.counted(value.encode())), value)
    ),
    st.binary(max_size=300).map(lambda value: (Bound(mysql.BLOB, mysql.counted(value)), value)),
]
"""Values of one type each."""
BOUND: Final[st.SearchStrategy[tuple[Bound, object]]] = st.one_of(
    *_KINDS,
    st.sampled_from([mysql.LONG, mysql.VAR_STRING, mysql.DATETIME]).map(lambda code: (Bound(code, None), None)),
)
"""A value as it is sent, and as it must come out."""


# --- commands

STATEMENTS: Final = st.one_of(
    st.binary(max_size=400).map(lambda text: b"SELECT /*" + text + b"*/"),
    st.sampled_from([b"SELECT 1", b"UPDATE t SET a = 1", b"USE shop", b"COMMIT", b"\nselect 2"]),
    st.integers(1000, 70_000).map(lambda size: b"SELECT '" + b"x" * size + b"'"),
)
_NUMBERS: Final = st.integers(0, (1 << 64) - 1)


def _query(text: bytes, status: str, numbers: tuple[int, int]) -> Turn:
    answers = {"ok": mysql.ok(*numbers), "error": mysql.error(1064, b"You have an error"), "result": mysql.result(3)}
    return Turn(mysql.query(text), answers[status], "query", text, status)


QUERIES: Final = st.builds(
    _query, STATEMENTS, st.sampled_from(["ok", "error", "result"]), st.tuples(_NUMBERS, _NUMBERS)
)
_OTHERS: Final = st.one_of(
    st.just(Turn(mysql.command(0x0E), mysql.ok(), "ping", None, "ok")),
    st.just(Turn(mysql.command(0x1F), mysql.ok(), "reset_connection", None, "ok")),
    st.just(Turn(mysql.change_user(b"root", proof=b"\0" * 20), mysql.ok(), "change_user", None, "ok")),
    st.binary(min_size=1, max_size=64).map(
        lambda name: Turn(mysql.command(2, name), mysql.ok(), "init_db", name, "ok")
    ),
)


def _loaded(rows: list[bytes]) -> list[Turn]:
    packets = [mysql.packet(number & 0xFF, row) for number, row in enumerate([*rows, b""], 2)]
    done = mysql.ok(len(rows), sequence=(len(packets) + 2) & 0xFF)
    return [
        Turn(mysql.query(_LOAD), mysql.local_infile()),
        Turn(b"".join(packets), done, "query", _LOAD, "ok"),
    ]


@st.composite
def _prepared(draw: st.DrawFn) -> list[Turn]:
    """A statement that is prepared, executed some times and closed; types are sent again or not."""
    statement_id = draw(st.integers(1, 0xFFFFFFFE))
    text = draw(STATEMENTS)
    values = draw(st.lists(BOUND, max_size=10))
    sent = [value for value, _ in values]
    expected = tuple(value for _, value in values) if values else None
    prepare = Turn(mysql.prepare(text), mysql.prepare_ok(statement_id, len(values)), "stmt_prepare", text, "ok")
    turns = [prepare]
    for number in range(draw(st.integers(1, 3))):
        types = number == 0 or draw(st.booleans())
        execute = mysql.execute(statement_id, sent, types=types)
        turns.append(Turn(execute, mysql.ok(), "stmt_execute", text, "ok", expected))
    turns.append(Turn(mysql.of_statement(0x19, statement_id), b"", "stmt_close"))
    return turns


_IN_PLACE_OF_A_VALUE: Final = {1: None, 2: Indicator.DEFAULT, 3: Indicator.IGNORE}


@st.composite
def _in_bulk(draw: st.DrawFn) -> list[Turn]:
    """A statement that is executed in bulk some times; types are sent again or not."""
    statement_id = draw(st.integers(1, 0xFFFFFFFE))
    text = draw(STATEMENTS)
    kinds = draw(st.lists(st.sampled_from(_KINDS), min_size=1, max_size=6))
    turns = [Turn(mysql.prepare(text), mysql.prepare_ok(statement_id, len(kinds)), "stmt_prepare", text, "ok")]
    for number in range(draw(st.integers(1, 3))):
        rows = draw(st.lists(st.tuples(*[_indicated(kind) for kind in kinds]), min_size=1, max_size=5))
        sent = [[value for value, _ in row] for row in rows]
        expected = tuple(tuple(value for _, value in row) for row in rows)
        bulk = mysql.bulk_execute(
            statement_id, sent, types=number == 0 or draw(st.booleans()), unit_results=draw(st.booleans())
        )
        turns.append(Turn(bulk, mysql.ok(len(rows)), "stmt_bulk_execute", text, "ok", expected))
    return turns


def _indicated(kind: st.SearchStrategy[tuple[Bound, object]]) -> st.SearchStrategy[tuple[Bound, object]]:
    """A value of one kind, or an indicator in its place: the type of the column is the same for all rows."""
    return st.tuples(kind, st.sampled_from([0, 0, 1, 2, 3])).map(
        lambda drawn: (
            (drawn[0][0]._replace(indicator=drawn[1]), _IN_PLACE_OF_A_VALUE[drawn[1]]) if drawn[1] else drawn[0]
        )
    )


LOGIN: Final = (
    Turn(b"", mysql.greeting()),
    Turn(mysql.login(pairs={"program_name": "till"}), mysql.ok(sequence=2), "connect", None, "ok"),
)
_GROUPS: Final[st.SearchStrategy[list[Turn]]] = st.one_of(
    QUERIES.map(lambda turn: [turn]),
    _OTHERS.map(lambda turn: [turn]),
    _prepared(),
    _in_bulk(),
    st.lists(st.binary(min_size=1, max_size=20), max_size=300).map(_loaded),
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Turn]:
    """A connection from its greeting on."""
    groups = draw(st.lists(_GROUPS, max_size=6))
    quits = draw(st.booleans())
    leaving = [Turn(mysql.command(1), b"", "quit")] if quits else []
    return [*LOGIN, *(turn for group in groups for turn in group), *leaving]


def script(turns: Sequence[Turn]) -> list[Step]:
    """The turns as the steps of a play."""
    steps: list[Step] = []
    for turn in turns:
        steps += [(C, turn.client)] if turn.client else []
        steps += [(S, turn.server)] if turn.server else []
    return steps


# --- damage


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """The same with some bytes changed, cut out, doubled or put in."""
    changed = bytearray(data)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(changed)))
        size = draw(st.integers(0, 12))
        kind = draw(st.sampled_from(["change", "cut", "double", "insert"]))
        if kind == "change" and at < len(changed):
            changed[at] ^= draw(st.integers(1, 255))
        elif kind == "cut":
            del changed[at : at + size]
        elif kind == "double":
            changed[at:at] = changed[at : at + size]
        else:
            changed[at:at] = draw(st.binary(max_size=size))
    return bytes(changed)


@st.composite
def damaged_scripts(draw: st.DrawFn) -> list[Step]:
    """A conversation whose segments are damaged, swapped, lost, or cut."""
    steps = script(draw(conversations()))
    hurt: list[Step] = []
    for side, data in steps:
        assert isinstance(data, bytes)
        kind = draw(st.sampled_from(["same", "same", "same", "damage", "gap", "lose", "other side", "cut", "random"]))
        if kind == "damage":
            hurt.append((side, draw(damaged(data))))
        elif kind == "gap":
            hurt += [(GAP, draw(st.integers(0, 1 << 26))), (side, data)]
        elif kind == "other side":
            hurt.append((S if side == C else C, data))
        elif kind == "cut":
            at = draw(st.integers(0, len(data)))
            hurt += [(side, data[:at]), (side, data[at:])]
        elif kind == "random":
            hurt.append((side, draw(st.binary(max_size=60))))
        elif kind == "same":
            hurt.append((side, data))
    return hurt
