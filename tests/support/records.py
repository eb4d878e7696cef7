"""Statements out of the JSON records of `querytap read` and `querytap replay`, as the server's log writes them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

from tests.support import serverrules
from tests.support.statements import Statement

_NAMES = {
    "query": "Query",
    "stmt_prepare": "Prepare",
    "stmt_execute": "Execute",
    "stmt_close": "Close stmt",
    "init_db": "Init DB",
    "quit": "Quit",
}
_NOT_LOGGED_WHEN_FAILED = frozenset({"Prepare", "Init DB"})


def parse(output: bytes) -> list[dict[str, Any]]:
    """The records of `--format json --raw`."""
    return [json.loads(line) for line in output.splitlines()]


def statements(records: Iterable[dict[str, Any]]) -> list[Statement]:
    """The statements to compare, types of parameters left out (rules 9 and 10)."""
    found = []
    for record in records:
        command = _NAMES.get(record["command"])
        if command is None or (command in _NOT_LOGGED_WHEN_FAILED and record["status"] == "error"):
            continue
        text = serverrules.without_types(_text(command, record)) if command == "Execute" else _text(command, record)
        found.append(Statement(record.get("connection_id", 0), command, text))
    return found


def _text(command: str, record: dict[str, Any]) -> bytes:
    sql = base64.b64decode(record.get("sql_base64", ""))
    charset = record.get("charset", "utf8mb4")
    if command in {"Query", "Prepare"}:
        return serverrules.statement(sql, charset)
    if command == "Execute":
        return serverrules.execution(sql, [_value(value) for value in record.get("parameters", ())], charset)
    return sql


def _value(value: Any) -> serverrules.Value:  # noqa: ANN401  # whatever JSON holds
    return base64.b64decode(value["base64"]) if isinstance(value, dict) else value
