"""A hypothesis strategy: what a client says on a connection whose server is not captured, and the truth about it.

The server here numbers statements as real ones do, and takes numbers for itself where these may.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from dataclasses import dataclass, field

from hypothesis import strategies as st

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.play import C, Part, Played, S, Said, Step, parts, run

VALUES = {
    Bound(mysql.LONG, struct.pack("<i", 1)): 1,
    Bound(mysql.VAR_STRING, mysql.counted(b"text")): "text",
    Bound(mysql.LONG, None): None,
}
"""What is bound, and what must come out of it."""
QUIET = [b"SELECT 1", b"SET NAMES utf8mb4", b"COMMIT", b"INSERT INTO t VALUES ('?')"]
BUSY = [b"CALL p()", b"PREPARE s FROM 'SELECT ?'", b"EXECUTE IMMEDIATE 'SELECT 1'", b"SELECT 1; execute s"]
"""Queries for which the server may take numbers."""


@dataclass(frozen=True)
class Executed:
    """What an execution really was of."""

    text: bytes
    values: tuple[object, ...] | None


@dataclass
class Sent:
    """A client's commands behind its login."""

    commands: list[bytes] = field(default_factory=list)
    executed: dict[int, Executed] = field(default_factory=dict)
    """By the place of the command."""
    number: int = 0
    """The last one the server has given."""
    known: dict[int, tuple[bytes, int]] = field(default_factory=dict)
    """Texts and how many values they take, by id."""


@st.composite
def talks(draw: st.DrawFn, *, in_a_row: bool = False, faults: bool = False) -> Sent:
    """*in_a_row*: all is prepared before the first execution, and the server begins at 1.

    *faults*: a PREPARE may be refused without a number.
    """
    sent = Sent(number=0 if in_a_row else draw(st.sampled_from([0, 0, 1, 5, 51])))
    for step in range(draw(st.integers(4, 30))):
        late = bool(sent.executed)
        kinds = ["prepare"] * 4 + ["fail"] if not (in_a_row and late) else []
        kinds += ["quiet", *([] if in_a_row else ["busy", "reset"])]
        kinds += ["execute", "execute", "execute", "bulk", "close"] if sent.known else []
        _say(draw, sent, draw(st.sampled_from(kinds)), step, faults=faults, alone=in_a_row)
    return sent


def _say(draw: st.DrawFn, sent: Sent, kind: str, step: int, *, faults: bool, alone: bool) -> None:
    if kind in {"prepare", "fail"}:
        count = draw(st.sampled_from([1, 1, 1, 1, 0, 2]))  # alike, so that their values do not tell them apart
        text = b"SELECT %d, '?'" % step + b", ?" * count
        sent.commands.append(mysql.prepare(text))
        sent.number += 0 if faults and kind == "fail" and draw(st.booleans()) else 1
        if kind == "prepare":
            sent.known[sent.number] = (text, count)
    elif kind == "reset":
        sent.commands.append(mysql.command(0x1F))
        sent.known = {}
    elif kind in {"quiet", "busy"}:
        sent.commands.append(mysql.query(draw(st.sampled_from(QUIET if kind == "quiet" else BUSY))))
        sent.number += draw(st.integers(0, 3)) if kind == "busy" else 0
    elif kind == "close":
        gone = draw(st.sampled_from(sorted(sent.known)))
        sent.commands.append(mysql.of_statement(0x19, gone))
        del sent.known[gone]
    else:
        _execute(draw, sent, kind)
        sent.number += 0 if alone else draw(st.integers(0, 1))


def _execute(draw: st.DrawFn, sent: Sent, kind: str) -> None:
    which = draw(st.sampled_from(sorted(sent.known)))
    text, count = sent.known[which]
    values = [draw(st.sampled_from(list(VALUES))) for _ in range(count)]
    read = tuple(VALUES[value] for value in values)
    if kind == "bulk" and count:
        command = mysql.bulk_execute(which, [values] * 2)
        sent.executed[len(sent.commands)] = Executed(text, (read,) * 2)
    else:
        command = mysql.execute(which, values)
        sent.executed[len(sent.commands)] = Executed(text, read or None)
    sent.commands.append(command)


def captured(sent: Sent, lost: Collection[int] = ()) -> list[Part]:
    """The client's direction, the server's answers acknowledged; *lost* commands are gaps."""
    steps: list[Step] = [(S, mysql.greeting()), (C, mysql.login()), (S, mysql.ok(sequence=2))]
    for place, command in enumerate(sent.commands):
        steps += [("gap", len(command)) if place in lost else (C, command), (S, mysql.ok())]
    return [part for part in parts(steps) if part[0] != S]


def heard(script: list[Part], *, answers: bool, from_start: bool = True) -> Played:
    """What comes of that."""
    return run(script, from_start, answers, 1 << 20, 1 << 24)


def joined(played: Played, sent: Sent, lost: Collection[int] = ()) -> list[tuple[Executed, Said]]:
    """What was executed, and its records."""
    found = [one for one in sorted(played.said, key=lambda one: one.time_ns) if one.command.endswith("execute")]
    truth = [executed for place, executed in sorted(sent.executed.items()) if place not in lost]
    assert len(found) == len(truth)
    return list(zip(truth, found, strict=True))
