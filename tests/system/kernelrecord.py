"""The table of kernels in docs/kernels.md: what was run in each, when, and what came of it.

The table is committed; a run that skips something else fails. With QUERYTAP_WRITE_KERNELS in the environment a run
writes the rows of its kernels anew.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from typing import Final, NamedTuple

from tests.support.processes import ROOT

DOCUMENT: Final = ROOT / "docs" / "kernels.md"
WRITES: Final = bool(os.environ.get("QUERYTAP_WRITE_KERNELS"))

_BEGIN, _END = "<!-- the table begins -->\n", "<!-- the table ends -->\n"
_FIXED: Final = ("kernel", "run on", "seconds in the guest", "method", "fanout", "Landlock")


class Row(NamedTuple):
    """What a run came to on one kernel."""

    release: str
    seconds: int
    method: str
    fanout: str
    landlock: int
    groups: dict[str, str]
    """Of each group how many tests passed, and how many were skipped, as `cell` says it."""


def cell(passed: int, skipped: int) -> str:
    """What became of a group in which nothing failed."""
    return f"{passed} passed" + (f", {skipped} skipped" if skipped else "")


def committed() -> dict[str, dict[str, str]]:
    """What the document says, by version (5.10) and column; nothing before the first run."""
    lines = [line for line in _parts()[1].splitlines() if line.startswith("|")]
    if not lines:
        return {}
    titles, _, *rows = (line[2:-2].split(" | ") for line in lines)
    return {_version(row[0]): dict(zip(titles, row, strict=True)) for row in rows}


def write(rows: Mapping[str, Row]) -> None:
    """Put what a run of these kernels came to into the document; what it has of others stays."""
    groups = list(next(iter(rows.values())).groups)
    titles = [*_FIXED, *groups]
    lines = {version: list(row.values()) for version, row in committed().items() if list(row) == titles}
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    for version, row in rows.items():
        landlock = f"version {row.landlock}" if row.landlock else "none"
        fixed = [row.release, today, str(row.seconds), row.method, row.fanout, landlock]
        lines[version] = [*fixed, *(row.groups[group] for group in groups)]
    ordered = (lines[version] for version in sorted(lines, key=_number))
    table = "".join(f"| {' | '.join(line)} |\n" for line in (titles, ["---"] * len(titles), *ordered))
    before, _, after = _parts()
    DOCUMENT.write_text(f"{before}{_BEGIN}{table}{_END}{after}", encoding="utf-8")


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _version(release: str) -> str:
    return ".".join(release.split(".")[:2])


def _parts() -> tuple[str, str, str]:
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(_BEGIN)
    table, _, after = rest.partition(_END)
    return before, table, after
