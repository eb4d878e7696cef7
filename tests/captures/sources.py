"""What the projects that a capture comes from expect of it, as statements to be found among those decoded.

Each project writes its expectations in its own way and with its own blind spots: one function a way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.captures.comparing import Disagreement
from workers.mysql import phases
from workers.records import Statement, decode_sql

_LATENCY_ROUNDING_NS = 1500
_RUNNING = frozenset({"query", "stmt_execute"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A statement that must be there, behind those before it; *fields* are what its record must say."""

    command: str | None
    """None: any that ran the text."""
    text: str | None = None
    client: str | None = None
    """Address and port, or None where the source does not say."""
    prefix: bool = False
    """*text* is only the beginning."""
    bound: Callable[[Statement], str | None] | None = None
    """How the source writes a statement with its values, where *text* has them."""
    fields: dict[str, object] = field(default_factory=dict)

    def found_in(self, statement: Statement) -> bool:
        """Whether that is the statement."""
        if self.client and statement.session.client != self.client:
            return False
        if statement.command != self.command and (self.command or statement.command not in _RUNNING):
            return False
        if self.text is None:
            return True
        text = decode_sql(statement)[0] if self.bound is None else self.bound(statement) or ""
        return text.startswith(self.text) if self.prefix else text == self.text


def disagreements(source: dict[str, Any], statements: Sequence[Statement]) -> Iterator[Disagreement]:
    """Where the statements are not what the source expects."""
    found = sorted(statements, key=lambda one: one.time_ns)
    for number, expected in enumerate(_expectations(source), 1):
        place = f"source {number}"
        index = next((index for index, one in enumerate(found) if expected.found_in(one)), None)
        if index is None:
            yield Disagreement(expected.client or "", place, "missing", (expected.command, (expected.text or "")[:80]))
            continue
        statement = found.pop(index)
        for name, wanted in expected.fields.items():
            value = _value(statement, name)
            if value != wanted and not (name == "latency_ns" and _close(wanted, value)):
                yield Disagreement(statement.session.client, place, name, wanted, value)


def _expectations(source: dict[str, Any]) -> Iterator[Expected]:
    for name, read in _WAYS.items():
        if name in source:
            yield from read(source[name])


def _value(statement: Statement, name: str) -> object:
    if name in {"user", "server_version", "connection_id", "tls"}:
        return getattr(statement.session, name) or (None if name != "tls" else False)
    if name == "rows" and statement.rows is None:
        return _Anything()
    return getattr(statement, name)


class _Anything:
    """What the decode can't know yet equals whatever is expected."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def _close(wanted: object, found: object) -> bool:
    return isinstance(wanted, int) and isinstance(found, int) and abs(wanted - found) <= _LATENCY_ROUNDING_NS


# --- zeek: its mysql.log

_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")


def _zeek(rows: Sequence[dict[str, str]]) -> Iterator[Expected]:
    names = {"login": "connect", "statistics": "statistics"}
    for row in rows:
        command = names.get(row["cmd"], row["cmd"])
        fields: dict[str, object] = {}
        if row["success"] == "F":
            fields |= {"status": "error", "error_message": row["response"]}
        elif row["rows"] not in {"-", "0"}:
            fields |= {"affected_rows": int(row["rows"])}
        text = None if row["arg"] == "(empty)" else _ESCAPE.sub(lambda found: chr(int(found[1], 16)), row["arg"])
        if command in {"connect", "change_user"}:
            fields["user"] = text
            text = None
        yield Expected(command=command, text=text, client=f"{row['id.orig_h']}:{row['id.orig_p']}", fields=fields)


# --- percona: the events of a slow log


def _percona(tests: Sequence[dict[str, Any]]) -> Iterator[Expected]:
    for event in (event for test in tests if isinstance(test, dict) for event in test["result"]):
        command, text = _percona_command(event["arg"])
        fields: dict[str, object] = {}
        if command in _ANSWERED_ONCE:
            fields["latency_ns"] = round(float(event["Query_time"]) * 1e9)
        if int(event["Thread_id"]) < 1 << 32:
            fields["connection_id"] = int(event["Thread_id"])
        if event.get("Error_no"):
            fields |= {"error_code": int(event["Error_no"]), "error_message": event["Error_msg"]}
        elif event["Rows_affected"]:
            fields |= {"affected_rows": event["Rows_affected"], "warnings": event["Warning_count"]}
        if event["user"]:
            fields["user"] = event["user"]
        if event["db"]:
            fields["database"] = event["db"]
        if command == "stmt_close":
            yield Expected(command=command, fields={"statement_id": int(text)})
            continue
        bound = _percona_bound if command == "stmt_execute" else None
        yield Expected(command=command, text=text or None, bound=bound, fields=fields)


_ANSWERED_ONCE = frozenset({"query", "stmt_prepare", "stmt_execute"})  # a connect is timed from its first packet
_PERCONA_KINDS = {
    "administrator command: Connect": "connect",
    "administrator command: Quit": "quit",
    "PREPARE ": "stmt_prepare",
    "EXECUTE ": "stmt_execute",
    "DEALLOCATE PREPARE ": "stmt_close",
}


def _percona_command(text: str) -> tuple[str, str]:
    for start, command in _PERCONA_KINDS.items():
        if text.startswith(start):
            return command, text.removeprefix(start)
    return "query", text


def _percona_bound(statement: Statement) -> str | None:
    def written(value: object) -> str:
        if value is None:
            return "NULL"
        return f'"{value}"' if isinstance(value, str) else str(value)

    return _filled(statement, written)


def _filled(statement: Statement, written: Callable[[object], str]) -> str | None:
    """The text with values for its question marks; none of these sources has one in a string."""
    values = iter(statement.parameters or ())
    return re.sub(r"\?", lambda mark: written(next(values, mark[0])), decode_sql(statement)[0])


# --- suricata: checks of its events


def _suricata(checks: dict[str, Sequence[dict[str, Any]]]) -> Iterator[Expected]:
    for check in (one["match"] | {"times": one["count"]} for found in checks.values() for one in found):
        text = check["mysql.command"]
        fields: dict[str, object] = {}
        if "mysql.version" in check:
            fields |= {"server_version": check["mysql.version"], "tls": check["mysql.tls"]}
        if text == "quit":
            yield Expected(command="quit", fields=fields)
            continue
        for _ in range(check["times"] if check["event_type"] == "mysql" else 0):  # an alert repeats an event
            yield Expected(command=None, text=text, bound=_suricata_bound, fields=fields)


def _suricata_bound(statement: Statement) -> str | None:
    return _filled(statement, str)


# --- pcap2mysql-log: all packets of each connection


def _pcap2mysql(connections: Sequence[dict[str, Any]]) -> Iterator[Expected]:
    for connection in connections:
        client = connection["Address"].split(" - ")[0]
        items = [item["Data"] for item in connection["Items"] or ()]
        for index, item in enumerate(items):
            answer = items[index + 1] if index + 1 < len(items) else {}
            expected = _pcap2mysql_item(item, client, _pcap2mysql_answer(answer))
            if expected is not None:
                yield expected


def _pcap2mysql_item(item: dict[str, Any], client: str, fields: dict[str, object]) -> Expected | None:
    kind = item["Type"]
    if kind == "Login":
        return Expected(command="connect", client=client, fields={"user": item["Username"]})
    if kind == "Query":
        return Expected(command="query", text=item["Query"], client=client, fields=fields)
    if kind == "Prepare":
        return Expected(command="stmt_prepare", text=item["Query"], client=client, fields=fields)
    if kind == "Execute":
        fields |= {"statement_id": item["StatementID"], "parameters": tuple(item["Params"]) if item["Params"] else None}
        return Expected(command="stmt_execute", client=client, fields=fields)
    names = {"QUIT": "quit", "MYSQL_STMT_CLOSE": "stmt_close"}
    return Expected(command=names[kind], client=client) if kind in names else None


def _pcap2mysql_answer(item: dict[str, Any]) -> dict[str, object]:
    kind = item.get("Type")
    if kind == "OK":
        return {"affected_rows": item["AffectedRows"], "warnings": item["WarningCount"], "status": "ok"}
    if kind == "Error":
        return {"error_code": item["Code"], "sqlstate": item["State"], "error_message": item["Message"]}
    if kind == "SQL results":
        return {"status": "result", "rows": len(item["Results"] or ())}
    return {"statement_id": item["StatementID"]} if kind == "PREPARE_OK" else {}


# --- deepflow: requests and responses in turn; it reads the first segment of a text only


def _deepflow(messages: Sequence[dict[str, Any]]) -> Iterator[Expected]:
    for index, message in enumerate(messages):
        if message["msg_type"] not in {"Request", "Session"}:
            continue
        answer = messages[index + 1] if index + 1 < len(messages) else {}
        fields: dict[str, object] = {}
        if "sql_affected_rows" in answer:
            fields["affected_rows"] = answer["sql_affected_rows"]
        number, text = message["request_type"], message.get("request_resource", "")
        if number == 0:
            user, _, database = text.removeprefix("Login username: ").partition(" db: ")
            fields |= {"user": user, "database": database or None}
            yield Expected(command="connect", fields=fields)
        elif phases.name(number) == "stmt_execute":
            yield Expected(command="stmt_execute", fields=fields | {"statement_id": message["statement_id"]})
        else:
            if phases.name(number) == "stmt_prepare":
                fields["statement_id"] = answer["statement_id"]
            readable = text.split("\ufffd")[0]
            yield Expected(command=phases.name(number), text=readable, prefix=True, fields=fields)


# --- packetbeat: facts of a transaction, by its number


def _packetbeat(facts: dict[str, dict[str, Any]]) -> Iterator[Expected]:
    names = {"affected_rows": "affected_rows", "num_rows": "rows", "error_code": "error_code"}
    for number, fact in facts.items():
        if not number.isdecimal():
            continue
        fields: dict[str, object] = {names[name]: value for name, value in fact.items() if name in names}
        if "error_message" in fact:
            fields["sqlstate"], _, message = fact["error_message"].partition(": ")
            fields["error_message"] = message
        command = "stmt_execute" if "params[0]" in fact else "query"
        yield Expected(command=command, fields=fields)


# --- arkime: sessions


def _arkime(sessions: Sequence[dict[str, Any]]) -> Iterator[Expected]:
    clients = {f"{one['source']['ip']}:{one['source']['port']}": one["mysql"] for one in sessions if one["mysql"]}
    for client, known in clients.items():
        fields: dict[str, object] = {"user": known["user"], "server_version": known["version"]}
        yield Expected(command="connect", client=client, fields=fields)


_WAYS: dict[str, Callable[[Any], Iterator[Expected]]] = {
    "mysql_log": _zeek,
    "events": _percona,
    "checks": _suricata,
    "decode": _pcap2mysql,
    "messages": _deepflow,
    "facts": _packetbeat,
    "sessions": _arkime,
}
