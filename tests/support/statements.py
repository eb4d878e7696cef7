"""What is compared: a statement as one source tells it, in the form that the server's general log writes it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

COMPARED = frozenset({"Query", "Prepare", "Execute", "Close stmt", "Init DB", "Quit"})
"""The log's names of the commands that the log, an archive and a workload's own list all tell completely."""


class Statement(NamedTuple):
    """One command of one connection."""

    connection_id: int
    command: str
    """As the general log names it."""
    text: bytes
    """As the general log writes it; tests/README.md lists the rules."""


def save(path: Path, statements: Iterable[Statement]) -> None:
    """Write a workload's own list: a line of JSON each, bytes as the characters of the same numbers."""
    with path.open("w", encoding="ascii") as file:
        for connection_id, command, text in statements:
            file.write(json.dumps([connection_id, command, text.decode("latin-1")]) + "\n")


def load(path: Path) -> list[Statement]:
    """Read a workload's own list."""
    with path.open(encoding="ascii") as file:
        return [Statement(row[0], row[1], row[2].encode("latin-1")) for row in map(json.loads, file)]


def differences(name: str, found: Counter[Statement], other: str, expected: Counter[Statement]) -> list[str]:
    """What is in one multiset and not in the other, a line each, for people; empty when they are the same."""
    lines = []
    for title, rest in ((f"only in {name}", found - expected), (f"only in {other}", expected - found)):
        if rest:
            lines.append(f"{title}: {rest.total()} of {found.total()} and {expected.total()}")
            lines += [
                f"  {count} x connection {statement.connection_id} {statement.command} {_short(statement.text)}"
                for statement, count in sorted(rest.items())[:8]
            ]
    return lines


def _short(text: bytes) -> str:
    return repr(text if len(text) <= 160 else text[:100] + b" ... " + text[-50:])[1:] + f" ({len(text)} bytes)"
