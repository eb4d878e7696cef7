"""Makes statements for tests of reading, and a decoder that stands in for the block reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from collector.archive.layout import Header
from collector.archive.names import ObjectName, write_name
from tests.unit.collector.aggregator.making import SECOND, START_NS, head_bytes, header, sealed
from workers.records import BlockError, Session, Statement

SESSION = Session(
    client="10.0.0.1:4711",
    server="10.0.0.9:3306",
    connection_id=12,
    user="app",
    program="shop",
    connection_attributes={"program_name": "shop"},
)


def statement(**changes: Any) -> Statement:  # noqa: ANN401 - fields of a statement are of many types
    fields: dict[str, Any] = {
        "time_ns": START_NS,
        "session": SESSION,
        "command": "query",
        "sql": b"SELECT 1",
        "database": "shop",
        "charset": "utf8mb4",
        "status": "ok",
    }
    return Statement(**{**fields, **changes})


def decode(body: bytes) -> Iterator[Statement]:
    """A statement a second for each line of *body*; a line "bad" is a damaged block."""
    for second, line in enumerate(body.splitlines()):
        if line == b"bad":
            raise BlockError("a bad line")
        yield statement(time_ns=START_NS + second * SECOND, sql=line)


def block(*lines: bytes, **changes: Any) -> tuple[bytes, bytes]:  # noqa: ANN401 - as statement
    fields = {"last_ns": START_NS + len(lines) * SECOND, "statements": len(lines), **changes}
    return head_bytes(**fields), b"\n".join(lines)


def write_object(archive: Path, *blocks: tuple[bytes, bytes], **changes: Any) -> Path:  # noqa: ANN401 - as statement
    """One object of the archive, a zstd frame a block; the changes are those of its header."""
    made: Header = header(**changes)
    name = ObjectName(made.instance, made.first_ns, made.last_ns, made.sequence, "0" * 16)
    path = archive / write_name(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(sealed([[each] for each in blocks], made))
    return path
