"""Makes statements, blocks and objects for tests of reading."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from collector.archive.hashes import object_hash
from collector.archive.layout import Header
from collector.archive.names import ObjectName, write_name
from collector.archive.packing import pack
from tests.unit.collector.aggregator.making import SECOND, START_NS, head_bytes, header, sealed
from workers.records import Session, Statement

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


def packed_session(user: bytes = b"app", client: int = 0x0A00_0001, port: int = 4711) -> bytes:
    """A connection as it stands in a block; *client* is an IPv4 address."""
    ends = struct.pack("<QQHQQH", 0, 0xFFFF_0000_0000 | client, port, 0, 0xFFFF_0A00_0009, 3306)
    return pack({"ends": ends, "connection_id": 12, "user": user, "attributes": b"\x0cprogram_name\x04shop"})


def planes(numbers: Sequence[int]) -> bytes:
    """A column of numbers."""
    slots = struct.pack(f"<{len(numbers)}Q", *numbers)
    return b"".join(slots[plane::8] for plane in range(8))


def body(*lines: bytes, **changes: Any) -> bytes:  # noqa: ANN401 - parts of a body are of many types
    """A statement a second for each line; *columns* among the changes are added to the others."""
    ones = planes([1] * len(lines))
    columns = {
        "time": planes([2 * SECOND * bool(number) for number in range(len(lines))]),
        "command": planes([3] * len(lines)),
        "status": ones,
        "database": ones,
        "charset": planes([45] * len(lines)),
        "sql_size": planes([len(line) + 1 for line in lines]),
    }
    parts: dict[str, Any] = {
        "format": 1,
        "rows": len(lines),
        "base_ns": START_NS,
        "sql": b"".join(lines),
        "parameters": b"",
        "error": b"",
        "strings": [b"shop"],
        "sessions": [packed_session()],
    }
    return pack({**parts, **changes, "columns": {**columns, **changes.get("columns", {})}})


def block(*lines: bytes, **changes: Any) -> tuple[bytes, bytes]:  # noqa: ANN401 - as statement
    """A line "bad" makes a damaged block."""
    fields = {"last_ns": START_NS + len(lines) * SECOND, "statements": len(lines), **changes}
    return head_bytes(**fields), b"\xc1" if b"bad" in lines else body(*lines)


def write_object(archive: Path, *blocks: tuple[bytes, bytes], **changes: Any) -> Path:  # noqa: ANN401 - as statement
    """One object of the archive, a zstd frame a block; the changes are those of its header."""
    made: Header = header(**changes)
    name = ObjectName(made.instance, made.first_ns, made.last_ns, made.sequence, "0" * 16)
    path = archive / write_name(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(sealed([[each] for each in blocks], made))
    return path


def write_chain(archive: Path, count: int, **changes: Any) -> list[Path]:  # noqa: ANN401 - as statement
    """Objects 1 to *count* of a run as an aggregator writes them, two statements in each; changes as write_object."""
    paths: list[Path] = []
    previous = bytes(32)
    for sequence in range(1, count + 1):
        first_ns = START_NS + 60 * SECOND * sequence
        sums = {"decoded": 2 * sequence, "shipped": 2 * sequence, "filtered": 0, "lost": 0, "evicted": 0, "held": 0}
        made = header(**{
            "sequence": sequence,
            "previous": previous,
            "first_ns": first_ns,
            "last_ns": first_ns + SECOND,
            "counts": {"statements": 2, "workers": {"0": 2}},
            "ledger": {"final": False, "workers": {"0": {"statements": sums}}, "objects_stored": sequence},
            **changes,
        })  # fmt: skip
        data = sealed([[block(b"SELECT %d" % sequence, b"SELECT 0", first_ns=first_ns, last_ns=first_ns)]], made)
        previous = object_hash(data)
        name = ObjectName(made.instance, made.first_ns, made.last_ns, sequence, previous.hex()[:16])
        path = archive / write_name(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        paths.append(path)
    return paths
