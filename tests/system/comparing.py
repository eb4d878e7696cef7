"""Compares what is told of a client's traffic: by querytap, by the server's log and by the client's own list."""

from __future__ import annotations

import base64
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from collector.reading.replay import Replay
from tests.support import generallog, serverrules
from tests.support.packets import Captured, pcap
from tests.support.statements import Statement, differences
from tests.support.talks import sent_to
from tests.system import literals
from tests.system.own import Sent
from workers.pcapfile import Tally, frames
from workers.records import Statement as Record
from workers.records import decode_sql
from workers.settings import Settings

_COMMANDS = {
    "connect": "Connect",
    "query": "Query",
    "stmt_prepare": "Prepare",
    "stmt_execute": "Execute",
    "stmt_bulk_execute": "Bulk_execute",
    "stmt_close": "Close stmt",
    "stmt_reset": "Reset stmt",
    "stmt_fetch": "Fetch",
    "init_db": "Init DB",
    "change_user": "Change user",
    "reset_connection": "Reset connection",
    "field_list": "Field List",
    "statistics": "Statistics",
    "quit": "Quit",
}
_LOGGED = frozenset({"Query", "Prepare", "Execute", "Close stmt", "Reset stmt", "Init DB", "Change user", "Quit"})
"""Commands that both servers write to their logs."""
_NOT_LOGGED_WHEN_FAILED = frozenset({"Prepare", "Init DB"})
_WHO = re.compile(rb"(?P<user>.*?)@\S*(?: as anonymous)? on (?P<database>\S*)")

_EXECUTIONS = frozenset({"stmt_execute", "stmt_bulk_execute"})


@dataclass(frozen=True)
class Traffic:
    """What was captured while a client sent, as querytap tells it."""

    records: list[Record]
    counters: dict[str, int]

    def of_connections(self, connections: Iterable[int]) -> list[Record]:
        """The records of some connections, by their time."""
        wanted = set(connections)
        found = [record for record in self.records if record.session.connection_id in wanted]
        return sorted(found, key=lambda record: record.time_ns)


def replay(capture: Path, port: int, responses: Literal["none", "first"], *, client_alone: bool = False) -> Traffic:
    """Decode a capture file, or of that what clients sent."""
    replaying = Replay(Settings(ports=(port,), responses=responses, max_statement_bytes=32 << 20))
    with io.BytesIO(_of_clients(capture, port)) if client_alone else capture.open("rb") as file:
        records = list(replaying.statements(file, capture.name))
    if replaying.problem:
        raise AssertionError(replaying.problem)
    return Traffic(records, replaying.counters)


def _of_clients(capture: Path, port: int) -> bytes:
    """A capture file with what was sent to the port."""
    with capture.open("rb") as file:
        found = [Captured(one.data[one.at :], one.time_ns) for one in frames(file, capture.name, Tally())]
    return pcap([one for one in found if sent_to(one.data, (port,))], nanoseconds=True)


def logged(log: bytes, server: str) -> list[Statement]:
    """The commands of all connections over TCP, as the server's log has them."""
    over_tcp: set[int] = set()
    found = []
    for entry in generallog.entries(log):
        if entry.command == "Connect" and entry.text.endswith(b"using TCP/IP"):
            over_tcp.add(entry.connection_id)
        if entry.command in _LOGGED and entry.connection_id in over_tcp:
            found.append(entry._replace(text=_as_compared(entry, server)))
    return found


def hidden(log: bytes) -> list[Statement]:
    """The commands of all connections under TLS, as the server's log has them; their logins too."""
    found: list[Statement] = []
    under_tls: set[int] = set()
    for entry in generallog.entries(log):
        if entry.command == "Connect" and entry.text.endswith(b"using SSL/TLS"):
            under_tls.add(entry.connection_id)
        if entry.connection_id in under_tls:
            found.append(entry)
    return found


def _as_compared(entry: Statement, server: str) -> bytes:
    if entry.command == "Change user":
        who = _WHO.match(entry.text)
        return who["user"] if who else entry.text
    if entry.command == "Execute":
        return literals.without_types(entry.text, server)
    return serverrules.statement(entry.text)


def told(records: Iterable[Record], server: str) -> list[Statement]:
    """The commands that a log has too, as it would write them."""
    found = []
    for record in _without_closing_twice(records):
        command = _COMMANDS.get(record.command, record.command)
        if command == "Bulk_execute":  # MariaDB writes it so, and none of its rows
            text = serverrules.statement(record.sql or b"")
            found.append(Statement(record.session.connection_id or 0, "Execute", text))
        elif command in _LOGGED and not (command in _NOT_LOGGED_WHEN_FAILED and record.status == "error"):
            found.append(Statement(record.session.connection_id or 0, command, _text(record, command, server)))
    return found


def _without_closing_twice(records: Iterable[Record]) -> Iterator[Record]:
    """Records without the closing of statements that the server has forgotten at a reset: no log has that."""
    prepared: dict[int | None, set[int | None]] = {}
    for record in records:
        known = prepared.setdefault(record.session.connection_id, set())
        if record.command == "stmt_prepare":
            known.add(record.statement_id)
        elif record.command in {"reset_connection", "change_user"}:
            known.clear()
        if record.command != "stmt_close" or record.statement_id in known:
            yield record


def _text(record: Record, command: str, server: str) -> bytes:
    sql = record.sql or b""
    if command == "Change user":
        return (record.session.user or "").encode()
    if command == "Execute":
        return literals.execution(sql, record.parameters or (), record.charset or "utf8mb4", server)
    if command in {"Query", "Prepare"}:
        return serverrules.statement(sql, record.charset or "utf8mb4")
    return sql if command == "Init DB" else b""


def with_the_log(records: Iterable[Record], log: Iterable[Statement], server: str) -> list[str]:
    """How the records differ from the log, for people."""
    found = Counter(told(records, server))
    expected = Counter(log)
    if server == "mysql":
        expected -= _prepared_again(found, expected)
    return differences("the records", found, "the server's log", expected)


def _prepared_again(found: Counter[Statement], expected: Counter[Statement]) -> Counter[Statement]:
    """What MySQL's log has of statements that the server prepared again by itself.

    It does that at an execution whose values have other types than it had thought.
    """
    executions = Counter(one.connection_id for one in found.elements() if one.command == "Execute")
    again = Counter({one: more for one, more in (expected - found).items() if one.command == "Prepare" and found[one]})
    times = Counter(one.connection_id for one in again.elements())
    plausible = {number for number, count in times.items() if count <= executions[number]}
    return Counter({one: more for one, more in again.items() if one.connection_id in plausible})


def with_the_list(records: Sequence[Record], sent: Sequence[Sent]) -> list[str]:
    """What of a client's list has no record in its place or another, for people.

    A client sends more than is on its list, by itself; so records may stand between those of the list.
    """
    found = []
    rest = iter(records)
    for one in sent:
        if one.command == "Connect":
            continue
        record = next((record for record in rest if _is(record, one)), None)
        if record is None:
            what = f"{one.command} {one.text[:150]!r} {str(one.parameters)[:150]}"
            found.append(f"no record, or not in its place: connection {one.connection} {what}")
            rest = iter(records)
            continue
        found += [f"{one.command} {one.text[:100]!r}: {problem}" for problem in _unlike(record, one)]
    return found


def _is(record: Record, sent: Sent) -> bool:
    if _COMMANDS.get(record.command, record.command) != sent.command or record.session.connection_id != sent.connection:
        return False
    if sent.command == "Change user":
        return record.session.user == sent.text
    text = sent.text.encode(serverrules.codec(sent.charset))
    with_text = sent.command in {"Query", "Prepare", "Execute", "Bulk_execute", "Init DB"}
    if with_text and serverrules.statement(record.sql or b"") != serverrules.statement(text):
        return False
    if sent.parameters is None:
        return True
    bound = record.parameters if record.parameter_rows is None else record.parameter_rows
    return _plain(bound or ()) == _plain(sent.parameters)


def _plain(value: Any) -> object:  # noqa: ANN401  # whatever is bound
    """A bound value without the difference between text, bytes and numbers of the same digits; or several."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return base64.b64decode(value["base64"])
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, Decimal):
        return format(value, "f").encode()
    return value.encode() if isinstance(value, str) else value


def _unlike(record: Record, sent: Sent) -> list[str]:
    problems = []
    code = record.error_code or 0
    if code != sent.error:
        problems.append(f"error {code} ({record.status}), and the client was told {sent.error}")
    if record.status == "unknown" and sent.command not in {"Quit", "Close stmt"}:
        problems.append("nothing is known of its answer")
    if sent.command == "Query" and decode_sql(record) != (_trimmed(sent.text, decode_sql(record)[0]), True):
        problems.append(f"decoded as {decode_sql(record)[0][:100]!r} by {record.charset}")
    for name, wanted in sent.expected.items():
        value = getattr(record if hasattr(record, name) else record.session, name)
        if isinstance(wanted, dict):  # a client has attributes of its own beside
            value = {name: value.get(name) for name in wanted}
        same = _pairs(value) == _pairs(wanted) if name == "query_attributes" else value == wanted
        if not same:
            problems.append(f"{name} is {value!r}, not {wanted!r}")
    return problems


def _pairs(attributes: Iterable[tuple[str, Any]] | None) -> list[tuple[str, object]]:
    return [(name, _plain(value)) for name, value in attributes or ()]


def _trimmed(wanted: str, found: str) -> str:
    """*wanted*, or *found* where only spaces and semicolons around it differ."""
    return found if found.strip(" \t\r\n;") == wanted.strip(" \t\r\n;") else wanted


def failed_logins(records: Iterable[Record], sent: Sequence[Sent]) -> list[str]:
    """How logins that were refused differ from those the client tried."""
    found = sorted(
        ((record.session.user or ""), record.error_code or 0)
        for record in records
        if record.command == "connect" and record.status == "error"
    )
    tried = sorted((one for one in sent if one.command == "Connect"), key=lambda one: one.text)
    same = len(found) == len(tried) and all(
        user == one.text and one.error in {code, None} for (user, code), one in zip(found, tried, strict=True)
    )
    return [] if same else [f"refused logins: {found}, and the client tried {tried}"]


def without_answers(records: Sequence[Record], seen: Sequence[Record]) -> list[str]:
    """How the records of responses = "none" differ from those that know the answers, by client and command.

    An execution whose statement's id is not known has no text; it counts by its command and its query attributes.
    """
    told_ = Counter(_bare(record) for record in records)
    expected = Counter(_bare(record) for record in seen)
    return differences("none", told_, "first", expected)


def of_clients_alone(traffic: Traffic, seen: Sequence[Record]) -> list[str]:
    """What is wrong in the executions of a capture of clients alone, whose statement ids are inferred.

    One that has a text must have it, and its values, where the server's answers are known; and some must.
    """
    found = Counter(_execution(record) for record in traffic.records if record.command in _EXECUTIONS and record.sql)
    expected = Counter(_execution(record) for record in seen if record.command in _EXECUTIONS and record.sql)
    wrong = [f"wrong, or not flagged: {one}"[:500] for one in found - expected]
    counted = {name: count for name, count in traffic.counters.items() if count}
    return wrong if found or not expected else [f"none of {expected.total()} executions has its text: {counted}"]


def _execution(record: Record) -> tuple[object, ...]:
    bound = record.parameters if record.parameter_rows is None else record.parameter_rows
    return record.session.client, record.time_ns, record.command, record.sql, repr(bound)


def _bare(record: Record) -> Statement:
    text = b"" if record.command in {"stmt_execute", "connect"} else record.sql or b""
    text += b"".join(repr(pair).encode() for pair in record.query_attributes or ())
    return Statement(int(record.session.client.rpartition(":")[2]), record.command, text)
