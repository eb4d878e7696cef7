"""Writes docs/metrics.md from the families that are declared.

`python -m collector.monitor.reference --write`, from the top of the source tree, brings it up to date; without
`--write` it ends with 1 when it is not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Final

from collector.monitor import own
from collector.monitor.alerts import alerting
from collector.monitor.database import families as database
from collector.monitor.families import Family
from collector.monitor.system import families as system

PATH: Final = "docs/metrics.md"

_PARTS: Final[tuple[tuple[str, ModuleType], ...]] = (
    ("Servers", database),
    ("The host", system),
    ("querytap itself", own),
    ("Alerts", alerting),
)


def declared() -> dict[str, Family]:
    """All families by name, in the order in which they are declared."""
    return {family.name: family for _, module in _PARTS for family in _of(module)}


def document() -> str:
    """The text of docs/metrics.md."""
    lines = [
        "# Metrics",
        "",
        "<!-- Written by `python -m collector.monitor.reference --write` from collector/monitor/. -->",
        "",
        "What is served at `/metrics` ([monitoring.md](monitoring.md)). A `*` stands for names that the server or the",
        "kernel gives. Names with `node_` are those of node_exporter, with `mysql_` those of mysqld_exporter.",
    ]
    for title, module in _PARTS:
        lines += ["", f"## {title}", "", "| metric | kind | labels | meaning |", "| --- | --- | --- | --- |"]
        lines += [_row(family) for family in _of(module)]
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None, root: Path = Path()) -> int:
    """Compare or write the document below *root*; 1 when a comparison found it stale."""
    parser = argparse.ArgumentParser(prog="python -m collector.monitor.reference", description=main.__doc__)
    parser.add_argument("--write", action="store_true", help="write it")
    path = root / PATH
    if parser.parse_args(argv).write:
        path.write_text(document(), encoding="utf-8")
        return 0
    stale = not path.is_file() or path.read_text(encoding="utf-8") != document()
    sys.stdout.write(f"{path}: stale\n" if stale else "")
    return int(stale)


def _of(module: ModuleType) -> Iterator[Family]:
    for value in vars(module).values():
        if isinstance(value, Family):
            yield value
        elif isinstance(value, Mapping):
            yield from _families(value.values())
        elif isinstance(value, tuple):
            yield from _families(value)


def _families(values: Iterable[object]) -> Iterator[Family]:
    return (value for value in values if isinstance(value, Family))


def _row(family: Family) -> str:
    return f"| `{family.name}` | {family.kind} | {', '.join(family.labels)} | {family.help} |"


if __name__ == "__main__":
    sys.exit(main())
