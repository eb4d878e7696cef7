"""Plays a scripted conversation to a Connection, in one piece and cut up, and tells what it reported."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from tests.support import mysql_packets as mysql
from workers.mysql import phases, values
from workers.mysql.connection import Connection
from workers.mysql.events import FLAG_NAMES, Exchange, Outbox, Session
from workers.mysql.framing import Allowance
from workers.mysql.rules import Rules

C, S, GAP = "client", "server", "gap"

Step = tuple[str, bytes | int]
"""Who sends which bytes in one segment, or how many bytes of the client never came."""
Part = tuple[str, bytes | int, int, int]
"""A step with its time in ns and the client's acknowledgment number."""

ENDS: Final = struct.pack("<QQHQQH", 0, 0xFFFF_0A00_0001, 4711, 0, 0xFFFF_0A00_0002, 3306)
START_NS: Final = 1_700_000_000_000_000_000
TURN_NS: Final = 1000
"""Between what one side says and what the other answers."""
MIB: Final = 1 << 20
_BYTEWISE_LIMIT: Final = 4096
_STATUS: Final = ("unknown", "ok", "error", "result")

LOGGED_IN: Final[tuple[Step, ...]] = ((S, mysql.greeting()), (C, mysql.login()), (S, mysql.ok(sequence=2)))


@dataclass(frozen=True, kw_only=True)
class Said:
    """An exchange, as a value."""

    command: str
    text: bytes | None
    text_length: int
    text_sha256: bytes | None
    status: str
    flags: frozenset[str]
    charset: int
    database: bytes | None
    statement_id: int
    prepared: bool
    parameters: tuple[values.Value, ...] | tuple[values.Row, ...] | None
    """Rows of a bulk execution."""
    query_attributes: tuple[tuple[str, values.Value], ...] | None
    error: tuple[int, bytes, bytes]
    """Number, SQLSTATE and message."""
    affected_rows: int
    last_insert_id: int
    warnings: int
    time_ns: int
    latency_ns: int
    bytes_in: int
    session: Known


@dataclass(frozen=True, kw_only=True)
class Known:
    """A session, as a value."""

    connection_id: int
    server_version: bytes | None
    user: bytes | None
    attributes: bytes
    ends: bytes
    charset: int
    encrypted: bool
    compressed: bool
    from_start: bool


class Played(NamedTuple):
    """What came out of a conversation: exchanges in the order of their end, sessions as known when it was over."""

    said: list[Said]
    desyncs: int
    truncated: int
    unread_parameters: int
    forgotten_statements: int
    session: Known
    returned: tuple[int, ...]
    """What client() and server() said of each segment; empty where segmentations are compared."""

    def summary(self) -> list[tuple[str, bytes | None, str]]:
        """Command, text and status of each."""
        return [(said.command, said.text, said.status) for said in self.said]

    def texts(self) -> list[bytes | None]:
        """The text of each."""
        return [said.text for said in self.said]


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
    for way, cut in ways(parts(script)).items():
        assert run(cut, *rules)._replace(returned=()) == whole._replace(returned=()), way
    return whole


def play_whole(
    *script: Step,
    from_start: bool = True,
    answers: bool = True,
    keep_bytes: int = 64 * MIB,
    allowance_bytes: int = 256 * MIB,
) -> Played:
    """What the script leads to with just these segments: where a stream is out of step, their beginnings matter."""
    return run(parts(script), from_start, answers, keep_bytes, allowance_bytes)


def after_login(*script: Step, answers: bool = True, keep_bytes: int = 64 * MIB) -> list[Said]:
    """What the script leads to behind a login, without the login itself."""
    played = play(*LOGGED_IN, *script, answers=answers, keep_bytes=keep_bytes)
    assert played.said[0].command == "connect"
    assert played.desyncs == 0
    return played.said[1:]


def parts(script: Iterable[Step]) -> list[Part]:
    """The steps with time, which goes on where the other side speaks, and with what the client has read until then."""
    found: list[Part] = []
    time_ns = START_NS
    acknowledgment = 1
    before = ""
    for side, what in script:
        if (side == S) != (before == S) and before:
            time_ns += TURN_NS
        found.append((side, what, time_ns, acknowledgment))
        if side == S and isinstance(what, bytes):
            acknowledgment += len(what)
        before = side
    return found


def ways(script: Sequence[Part]) -> dict[str, list[Part]]:
    """Other segmentations of the client's bytes, by name."""
    found = {f"cut {into} bytes into each header": _cut(script, into) for into in (1, 2, 3, 4, 5)}
    found["joined"] = list(_joined(script))
    if sum(len(what) for side, what, *_ in script if side == C and isinstance(what, bytes)) <= _BYTEWISE_LIMIT:
        found["byte by byte"] = [
            (side, piece, time_ns, acknowledgment)
            for side, what, time_ns, acknowledgment in script
            for piece in (_pieces(what, range(1, len(what))) if side == C and isinstance(what, bytes) else [what])
        ]
    return found


def run(script: Iterable[Part], from_start: bool, answers: bool, keep_bytes: int, allowance_bytes: int) -> Played:
    """Feed the parts as they are; check what must hold after every conversation."""
    outbox = Outbox()
    allowance = Allowance(allowance_bytes)
    conversation = Connection(outbox, Rules(keep_bytes, answers, allowance), ENDS, from_start)
    returned = []
    for side, what, time_ns, acknowledgment in script:
        if isinstance(what, int):
            conversation.gap(what, time_ns, acknowledgment)
        elif side == C:
            padded = b"\xee" + what + b"\xff" * 9  # other packets lie before and behind it in a block
            returned.append(conversation.client(padded, 1, 1 + len(what), time_ns, acknowledgment))
        else:
            returned.append(conversation.server(b"\xee" + what + b"\xff" * 9, 1, 1 + len(what), time_ns))
        assert allowance.used <= allowance_bytes
    conversation.close()
    assert (allowance.used, allowance.remembered) == (0, 0), "a conversation that is over keeps nothing"
    assert outbox.decoded == len(outbox.finished), "every command that was counted is reported"
    return Played(
        [said(exchange) for exchange in outbox.finished],
        outbox.desyncs,
        outbox.truncated,
        outbox.unread_parameters,
        outbox.forgotten_statements,
        _known(conversation.session),
        tuple(returned),
    )


def said(exchange: Exchange) -> Said:
    """The exchange as a value."""
    bound, named = exchange.parameters, exchange.query_attributes
    return Said(
        command=phases.name(exchange.command),
        text=exchange.text,
        text_length=exchange.text_length,
        text_sha256=exchange.text_sha256,
        status=_STATUS[exchange.status],
        flags=frozenset(name for bit, name in enumerate(FLAG_NAMES) if exchange.flags >> bit & 1),
        charset=exchange.charset,
        database=exchange.database,
        statement_id=exchange.statement_id,
        prepared=bool(exchange.prepared),
        parameters=None if bound is None else _values(exchange.command, bound),
        query_attributes=None if named is None else values.named_values(named, _utf8, _utf8),
        error=(exchange.error_code, exchange.sqlstate, exchange.message),
        affected_rows=exchange.affected_rows,
        last_insert_id=exchange.last_insert_id,
        warnings=exchange.warnings,
        time_ns=exchange.time_ns,
        latency_ns=exchange.latency_ns,
        bytes_in=exchange.bytes_in,
        session=_known(exchange.session),
    )


def _values(command: int, bound: bytes) -> tuple[values.Value, ...] | tuple[values.Row, ...] | None:
    """As the reader of blocks takes them: what a client sent malformed is not known."""
    read = values.rows if phases.name(command) == "stmt_bulk_execute" else values.values
    try:
        return read(bound, _utf8)
    except ValueError:
        return None


def _utf8(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _known(session: object) -> Known:
    return Known(**{name: getattr(session, name) for name in Known.__dataclass_fields__})


def _pieces(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    bounds = [0, *sorted({cut for cut in cuts if 0 < cut < len(data)}), len(data)]
    return [data[begin:end] for begin, end in itertools.pairwise(bounds)]


def _cut(script: Sequence[Part], into: int) -> list[Part]:
    """Cut each client segment in each of its headers, behind that many bytes."""
    return [
        (side, piece, time_ns, acknowledgment)
        for side, what, time_ns, acknowledgment in script
        for piece in (
            _pieces(what, [header + into for header in _headers(what)])
            if side == C and isinstance(what, bytes)
            else [what]
        )
    ]


def _headers(data: bytes) -> Iterator[int]:
    """Where packets begin, in a segment that begins with one."""
    at = 0
    while at + 4 <= len(data):
        yield at
        at += 4 + int.from_bytes(data[at : at + 3], "little")


def _joined(script: Sequence[Part]) -> Iterator[Part]:
    """What the client sends in a row comes as one segment."""
    pending: Part | None = None
    for part in script:
        if pending is not None and part[0] == C and isinstance(part[1], bytes) and isinstance(pending[1], bytes):
            pending = (C, pending[1] + part[1], pending[2], pending[3])
            continue
        if pending is not None:
            yield pending
        pending = None if part[0] != C else part
        if pending is None:
            yield part
    if pending is not None:
        yield pending


def exchange(session: Session | None = None, **fields: object) -> Exchange:
    """An exchange with these fields, as a conversation would report it."""
    made = Exchange()
    made.session = connection() if session is None else session
    made.time_ns = START_NS
    text = fields.get("text")
    made.text_length = len(text) if isinstance(text, bytes) else 0
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def connection(**fields: object) -> Session:
    """A session between ENDS with these fields."""
    made = Session()
    made.ends = ENDS
    for name, value in fields.items():
        setattr(made, name, value)
    return made
