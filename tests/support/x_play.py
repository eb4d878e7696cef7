"""Plays a scripted conversation to XConversation, in one piece and cut up, and tells what it reported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from tests.support import x_packets as x
from tests.support.play import ENDS, MIB, C, Part, S, Step, parts
from workers.mysql import values
from workers.mysql.events import FLAG_NAMES, Exchange, Outbox, Session
from workers.mysql.framing import Allowance
from workers.mysql.rules import Rules
from workers.mysqlx import phases
from workers.mysqlx.conversation import XConversation

LOGGED_IN: tuple[Step, ...] = (
    (C, x.start()),
    (S, x.challenge()),
    (C, x.proof()),
    (S, x.changed(11, 42) + x.authenticated()),
)
_STATUS = ("unknown", "ok", "error", "result")
_BYTEWISE_LIMIT = 4096


class Said(NamedTuple):
    """An exchange, as a value."""

    command: str
    text: bytes | None
    status: str
    parameters: tuple[values.Value, ...] | None = None
    flags: frozenset[str] = frozenset()
    database: bytes | None = None
    statement_id: int = 0
    text_length: int = 0
    error: tuple[int, bytes, bytes] = (0, b"", b"")
    affected_rows: int = 0
    last_insert_id: int = 0
    warnings: int = 0
    time_ns: int = 0
    latency_ns: int = -1
    duration_ns: int = -1
    rows: int = -1
    bytes_out: int = 0
    bytes_in: int = 0
    user: bytes | None = None


class Played(NamedTuple):
    """What came out of a conversation: exchanges in the order of their end, the session as known when it was over."""

    said: list[Said]
    desyncs: int
    truncated: int
    unread_parameters: int
    forgotten_statements: int
    session: Session
    returned: tuple[int, ...]

    def comparable(self) -> tuple[object, ...]:
        """Without what depends on the segments themselves."""
        known = self.session
        return (
            *self[:5],
            (known.user, known.connection_id, known.attributes, known.encrypted, known.compressed, known.from_start),
        )

    def summary(self) -> list[tuple[str, bytes | None, str]]:
        """Command, text and status of each."""
        return [said[:3] for said in self.said]


def play(
    *script: Step,
    from_start: bool = True,
    answers: bool = True,
    keep_bytes: int = 64 * MIB,
    allowance_bytes: int = 256 * MIB,
) -> Played:
    """What the script leads to. Fails where it depends on how the client's bytes are cut into segments."""
    rules = (from_start, answers, keep_bytes, allowance_bytes)
    whole = run(parts(script), *rules)
    for size in (1, 2, 3, 7):
        cut = cut_every(parts(script), size)
        if len(cut) <= _BYTEWISE_LIMIT:
            assert run(cut, *rules).comparable() == whole.comparable(), f"in pieces of {size} bytes"
    return whole


def play_whole(*script: Step, from_start: bool = True, answers: bool = True, keep_bytes: int = 64 * MIB) -> Played:
    """What the script leads to with just these segments: where a stream is out of step, their beginnings matter."""
    return run(parts(script), from_start, answers, keep_bytes, 256 * MIB)


def after_login(*script: Step, answers: bool = True, keep_bytes: int = 64 * MIB) -> list[Said]:
    """What the script leads to behind a login, without the login itself."""
    played = play(*LOGGED_IN, *script, answers=answers, keep_bytes=keep_bytes)
    assert "connect" in {said.command for said in played.said}
    assert played.desyncs == 0
    return [said for said in played.said if said.command != "connect"]


def cut_every(script: Sequence[Part], size: int) -> list[Part]:
    """The client's segments in pieces of *size* bytes."""
    found: list[Part] = []
    for side, what, time_ns, acknowledgment in script:
        if side != C or not isinstance(what, bytes):
            found.append((side, what, time_ns, acknowledgment))
            continue
        found += [(side, what[at : at + size], time_ns, acknowledgment) for at in range(0, len(what), size)]
    return found


def run(
    script: Iterable[Part],
    from_start: bool,
    answers: bool,
    keep_bytes: int,
    allowance_bytes: int,
    responses: Literal["first", "timing", "all"] = "first",
) -> Played:
    """Feed the parts as they are; check what must hold after every conversation."""
    outbox = Outbox()
    allowance = Allowance(allowance_bytes)
    rules = Rules(keep_bytes, answers, allowance, timed=responses == "timing")
    conversation = XConversation(outbox, rules, ENDS, from_start)
    returned = []
    for side, what, time_ns, acknowledgment in script:
        if isinstance(what, int):
            conversation.gap(what, time_ns, acknowledgment)
        else:
            padded = b"\xee" + what + b"\xff" * 9  # other packets lie before and behind it in a block
            if side == C:
                returned.append(conversation.client(padded, 1, 1 + len(what), time_ns, acknowledgment))
            elif responses == "all":
                returned.append(conversation.server_stream(padded, 1, 1 + len(what), time_ns, acknowledgment))
            else:
                returned.append(conversation.server(padded, 1, 1 + len(what), time_ns, 0, acknowledgment))
        assert allowance.used <= allowance_bytes
        assert allowance.remembered <= allowance_bytes // 2
    conversation.close()
    assert (allowance.used, allowance.remembered) == (0, 0), "a conversation that is over keeps nothing"
    assert outbox.decoded == len(outbox.finished), "every command that was counted is reported"
    return Played(
        [said(exchange) for exchange in outbox.finished],
        outbox.desyncs,
        outbox.truncated,
        outbox.unread_parameters,
        outbox.forgotten_statements,
        conversation.session,
        tuple(returned),
    )


def said(exchange: Exchange) -> Said:
    """The exchange as a value."""
    bound = exchange.parameters
    return Said(
        command=phases.name(exchange.command),
        text=exchange.text,
        status=_STATUS[exchange.status],
        parameters=None if bound is None else values.values(bound, lambda data: data.decode("utf-8", "replace")),
        flags=frozenset(name for bit, name in enumerate(FLAG_NAMES) if exchange.flags >> bit & 1),
        database=exchange.database,
        statement_id=exchange.statement_id,
        text_length=exchange.text_length,
        error=(exchange.error_code, exchange.sqlstate, exchange.message),
        affected_rows=exchange.affected_rows,
        last_insert_id=exchange.last_insert_id,
        warnings=exchange.warnings,
        time_ns=exchange.time_ns,
        latency_ns=exchange.latency_ns,
        duration_ns=exchange.duration_ns,
        rows=exchange.rows,
        bytes_out=exchange.bytes_out,
        bytes_in=exchange.bytes_in,
        user=exchange.session.user,
    )
