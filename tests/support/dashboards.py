"""The names of metrics in the dashboard that is shipped."""

from __future__ import annotations

import json
import re

from tests.support import processes

FILE = processes.ROOT / "packaging" / "grafana" / "querytap.json"

_NAME = re.compile(r"\b(?:node|mysql|querytap)_\w+\b")


def names() -> set[str]:
    """Of its queries and of the choices above it, without the labels' values."""
    board = json.loads(FILE.read_text(encoding="utf-8"))
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    queries += [choice["query"] for choice in board["templating"]["list"]]
    return {name for query in queries for name in _NAME.findall(re.sub(r'"[^"]*"', "", query))}
