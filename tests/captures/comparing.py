"""Compares what was decoded from a capture with what its reference says."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tests.captures.references import Command, Connection, escapings
from workers.mysql import phases
from workers.records import Statement

_LATENCY_ROUNDING_US = 1
_NO_RECORD = frozenset({24})  # COM_STMT_SEND_LONG_DATA is part of an execution
_WITH_TEXT = frozenset({2, 3, 4, 5, 6, 22, 23})  # the reference gives CLOSE its PREPARE's text, as EXECUTE
_CHANGE_USER = 17


class Disagreement(NamedTuple):
    """One difference: where (client, and the frame or the number of the command), in what, and both values."""

    client: str
    place: str
    what: str
    wanted: object = None
    found: object = None


def disagreements(
    connections: Sequence[Connection], statements: Sequence[Statement], counters: dict[str, int], responses: str
) -> Iterator[Disagreement]:
    """All differences, as far as *responses* lets the decode know."""
    by_client: dict[str, list[Statement]] = {}
    for statement in statements:
        by_client.setdefault(statement.session.client, []).append(statement)
    for connection in connections:
        own = by_client.pop(connection.client, [])
        yield from _of_connection(connection, own, responses)
        commands = [command for command in connection.commands if command.number not in _NO_RECORD]
        own = [one for one in own if one.command != "connect"]
        yield from _of_commands(connection.client, commands, own, responses)
    for client, rest in by_client.items():
        yield from (Disagreement(client, "connection", "extra", None, one) for one in rest)
    if any(one.tls for one in connections) and not counters["packets_encrypted"]:
        yield Disagreement("", "capture", "packets_encrypted", "some", 0)


def _of_connection(connection: Connection, statements: list[Statement], responses: str) -> Iterator[Disagreement]:
    logins = [one for one in statements if one.command == "connect"]
    known: list[tuple[str, object, object]] = []
    if connection.logs_in or connection.refusal is not None:
        known.append(("logins", 1, len(logins)))
    if logins and connection.logs_in:
        login = logins[0]
        known += [
            ("user", connection.user, login.session.user or ""),
            ("database", connection.database, login.database or ""),
            ("version", connection.version, login.session.server_version or ""),
        ]
    if logins and connection.refusal is not None:
        known.append(("refusal", connection.refusal, logins[0].error_code))
    if statements:
        known.append(("from_start", connection.from_start, statements[0].session.from_start))
        known.append(("tls", False, statements[-1].session.tls))
    if connection.commands and responses != "none":
        known.append(("compressed", connection.compression is not None, statements[-1].session.compressed))
    yield from _different(connection.client, "connection", known)


def _of_commands(
    client: str, wanted: Sequence[Command], found: Sequence[Statement], responses: str
) -> Iterator[Disagreement]:
    """The commands are aligned by what the client sent; then the answers of each pair are compared."""
    mine = [_sent(one) for one in found]
    theirs = [_said(one) for one in wanted]
    matcher = difflib.SequenceMatcher(None, _keys(theirs, mine), [keys[0] for keys in mine], autojunk=False)
    for kind, low, high, begin, end in matcher.get_opcodes():
        if kind == "equal":
            for one, other in zip(wanted[low:high], found[begin:end], strict=True):
                yield from _of_answer(client, one, other, responses)
            continue
        for one in wanted[low:high]:
            yield Disagreement(client, f"frame {one.frame}", "missing", (one.number, one.text[:80], one.statement_id))
        for number in range(begin, end):
            other = found[number]
            yield Disagreement(
                client, f"command {number + 1}", "extra", None, (other.command, other.sql, other.statement_id)
            )


def _said(command: Command) -> tuple[str, str]:
    return phases.name(command.number), command.text if command.number in _WITH_TEXT else ""


def _sent(statement: Statement) -> list[tuple[str, str]]:
    """All that the reference may say of what was sent."""
    return [(statement.command, text) for text in sorted(escapings(statement.sql or b""))]


def _keys(theirs: Iterable[tuple[str, str]], mine: Iterable[list[tuple[str, str]]]) -> list[tuple[str, str]]:
    """The reference's commands in the escaping that ours come in."""
    first = {key: keys[0] for keys in mine for key in keys}
    return [first.get(key, key) for key in theirs]


def _of_answer(client: str, wanted: Command, found: Statement, responses: str) -> Iterator[Disagreement]:
    known: list[tuple[str, object, object]] = []
    if wanted.statement_id is not None and (responses != "none" or found.statement_id is not None):
        known.append(("statement_id", wanted.statement_id, found.statement_id))
    if wanted.number == _CHANGE_USER:
        known.append(("user", wanted.text.removeprefix("user="), found.session.user))
    if responses != "none":
        known.append(("status", wanted.status, found.status))
        known.append(("error_code", wanted.error_code, found.error_code))
        if wanted.affected_rows is not None:
            known.append(("affected_rows", wanted.affected_rows, found.affected_rows))
        if wanted.latency_us is not None:
            known.append(("latency", wanted.latency_us, _rounded(wanted.latency_us, found.latency_ns)))
    if wanted.rows is not None and found.rows is not None:
        known.append(("rows", wanted.rows, found.rows))
    yield from _different(client, f"frame {wanted.frame}", known)


def _rounded(wanted_us: int, latency_ns: int | None) -> int | None:
    if latency_ns is None:
        return None
    found = round(latency_ns / 1000)
    return wanted_us if abs(found - wanted_us) <= _LATENCY_ROUNDING_US else found


def _different(client: str, place: str, known: Iterable[tuple[str, object, object]]) -> Iterator[Disagreement]:
    for what, wanted, found in known:
        if wanted != found:
            yield Disagreement(client, place, what, wanted, found)
