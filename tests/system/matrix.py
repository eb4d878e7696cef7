"""The matrix of clients, servers and features: what a run found, and the table of it in docs/compatibility.md.

The table is committed; a run that finds something else fails. With QUERYTAP_WRITE_MATRIX in the environment a run of
everything writes it anew.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from tests.support.processes import ROOT
from tests.system.clients import CLIENTS
from tests.system.features import FEATURES
from tests.system.servers import SERVERS

DOCUMENT: Final = ROOT / "docs" / "compatibility.md"
WRITES: Final = bool(os.environ.get("QUERYTAP_WRITE_MATRIX"))

_BEGIN, _END = "<!-- the matrix begins -->\n", "<!-- the matrix ends -->\n"
State = Literal["compared", "impossible"]


class Cell(NamedTuple):
    """Where something stands in the matrix."""

    server: str
    client: str
    feature: str


class Outcome(NamedTuple):
    """What became of a cell."""

    state: State
    detail: str
    """How many commands were compared, or why none could be."""


def cells() -> list[Cell]:
    """All there are."""
    return [Cell(server, client, feature) for server in SERVERS for client in CLIENTS for feature in FEATURES]


def committed() -> dict[Cell, str]:
    """What the document says of each cell: its first word."""
    clients = {client.title: name for name, client in CLIENTS.items()}
    features = {title: name for name, title in FEATURES.items()}
    servers = {title: name for name, title in SERVERS.items()}
    found = {}
    for table in _parts(DOCUMENT.read_text(encoding="utf-8"))[1].split("\n## ")[1:]:
        server = servers[table.partition("\n")[0]]
        (_, *titles), _, *rows = (line[2:-2].split(" | ") for line in table.splitlines() if line.startswith("| "))
        for feature, *texts in rows:
            for title, text in zip(titles, texts, strict=True):
                found[Cell(server, clients[title], features[feature])] = text.partition(" ")[0]
    return found


def write(outcomes: Mapping[Cell, Outcome]) -> None:
    """Put the tables of a run of everything into the document. Raises ValueError when a cell has no outcome."""
    missing = [cell for cell in cells() if cell not in outcomes]
    if missing:
        raise ValueError(f"nothing is written, for {len(missing)} cells have no outcome: {missing[:5]}")
    before, _, after = _parts(DOCUMENT.read_text(encoding="utf-8"))
    tables = "".join(_table(server, outcomes) for server in SERVERS)
    DOCUMENT.write_text(before + _BEGIN + tables + "\n" + _END + after, encoding="utf-8")


def _table(server: str, outcomes: Mapping[Cell, Outcome]) -> str:
    reasons: list[str] = []

    def text(outcome: Outcome) -> str:
        if outcome.state == "compared":
            return f"compared {outcome.detail}"
        if outcome.detail not in reasons:
            reasons.append(outcome.detail)
        return f"{outcome.state} [{reasons.index(outcome.detail) + 1}]"

    lines = [f"\n## {SERVERS[server]}\n"]
    lines.append("| feature | " + " | ".join(client.title for client in CLIENTS.values()) + " |")
    lines.append("| --- |" + " --- |" * len(CLIENTS))
    for feature, title in FEATURES.items():
        row = (text(outcomes[Cell(server, client, feature)]) for client in CLIENTS)
        lines.append(f"| {title} | " + " | ".join(row) + " |")
    lines.append("")
    lines += [f"{number}. {reason}" for number, reason in enumerate(reasons, 1)]
    return "\n".join(lines) + "\n"


def _parts(text: str) -> tuple[str, str, str]:
    before, _, rest = text.partition(_BEGIN)
    tables, _, after = rest.partition(_END)
    return before, tables, after
