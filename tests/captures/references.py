"""What is known of each capture in a folder: the list of captures, and an independent decode of each."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0"}
_MODES = {"OK": "ok", "PREP_OK": "ok", "ERR": "error", "RS": "result", "FIELDS": "result", "": "unknown"}


@dataclass(frozen=True, slots=True)
class Capture:
    """One file of the folder, and the ports of its servers."""

    path: Path
    ports: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """A command as the reference has it; None where it does not say."""

    frame: int
    number: int
    text: str
    """With escapes; see escapings()."""
    statement_id: int | None
    status: str
    error_code: int | None
    affected_rows: int | None
    rows: int | None
    latency_us: int | None


@dataclass(frozen=True, slots=True)
class Connection:
    """A TCP connection as the reference has it; empty texts where it does not say."""

    client: str
    version: str
    user: str
    database: str
    compression: str | None
    tls: bool
    from_start: bool
    refusal: int | None
    """The number of the error that ended the login."""
    logs_in: bool
    """The client's login was seen, whatever became of it."""
    commands: tuple[Command, ...]


def captures(folder: Path) -> list[Capture]:
    """All that ``index.tsv`` names."""
    lines = (folder / "index.tsv").read_text(encoding="utf-8").splitlines()
    names = lines[0].split("\t")
    rows = [dict(zip(names, line.split("\t"), strict=False)) for line in lines[1:] if line]
    return [Capture(folder / row["file"], tuple(map(int, re.findall(r"\d+", row["ports"])))) for row in rows]


def connections(capture: Path) -> list[Connection]:
    """The connections of a capture with their commands."""
    commands: dict[int, list[Command]] = {}
    lines = Path(f"{capture}.ref.tsv").read_bytes().decode("utf-8", "surrogateescape").rstrip("\n").split("\n")
    names = lines[0].split("\t")
    for line in lines[1:]:
        row = dict(zip(names, line.split("\t"), strict=True))
        commands.setdefault(int(row["tcp.stream"]), []).append(_command(row))
    found = json.loads(Path(f"{capture}.conns.json").read_text(encoding="utf-8"))
    return [_connection(one, tuple(commands.get(one["stream"], ()))) for one in found]


def source(capture: Path) -> dict[str, Any] | None:
    """What the tests of the capture's origin expect; None where there is nothing."""
    path = Path(f"{capture}.source.json")
    if not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def escapings(text: bytes) -> set[str]:
    """How a reference may write *text*: whether the backslash before a byte that is no UTF-8 is escaped is open."""
    late = "".join(_ESCAPES.get(char, char) for char in text.decode("utf-8", "backslashreplace"))
    early = text.decode("utf-8", "surrogateescape")
    early = "".join(_ESCAPES.get(char, char) for char in early)
    return {late, early.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")}


def _command(row: dict[str, str]) -> Command:
    return Command(
        frame=int(row["frame"]),
        number=int(row["command"]),
        text=row["query"],
        statement_id=_number(row["stmt_id"]),
        status=_MODES[row["response"]],
        error_code=_number(row["error"]),
        affected_rows=_number(row["affected"]),
        rows=_number(row["rows"]),
        latency_us=_number(row["latency_us"]),
    )


def _number(text: str) -> int | None:
    return int(text) if text else None


def _connection(one: dict[str, Any], commands: tuple[Command, ...]) -> Connection:
    refusal = [int(note.split()[1]) for note in one["notes"] if "err" in note]
    return Connection(
        client=one["client"],
        version=one["version"],
        user=one["user"],
        database=one["db"],
        compression=one["compress"],
        tls=one["tls"],
        from_start=one["syn"],
        refusal=refusal[0] if refusal else None,
        logs_in=one["ccaps"] is not None and not one["tls"],
        commands=commands,
    )
