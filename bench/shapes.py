"""The load by statement shape: literals out, shape kept. Pure: records in, rows out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from workers.sql.fingerprint import fingerprint

_SHOWN = 88


@dataclass(slots=True)
class Shape:
    """All statements of one shape; *latency_ns* is that of all together, to the first byte of their answers."""

    text: str
    count: int = 0
    latency_ns: int = 0


def heaviest(records: Iterable[Mapping[str, Any]], most: int) -> list[Shape]:
    """The shapes on which the server spent most time, of what `--format json` printed."""
    shapes: dict[bytes, Shape] = {}
    for record in records:
        if record["command"] not in {"query", "stmt_execute"} or "sql" not in record:
            continue
        key = fingerprint(record["sql"].encode(errors="replace"))
        shape = shapes.setdefault(key, Shape(key.decode(errors="replace")))
        shape.count += 1
        shape.latency_ns += record.get("latency_ns", 0)
    return sorted(shapes.values(), key=lambda shape: shape.latency_ns, reverse=True)[:most]


def table(shapes: Iterable[Shape]) -> list[str]:
    """The shapes as lines of text."""
    lines = [f"{'total ms':>9} {'count':>7} {'mean us':>8}  shape"]
    for shape in shapes:
        text = shape.text if len(shape.text) <= _SHOWN else shape.text[: _SHOWN - 3] + "..."
        mean_us = shape.latency_ns / shape.count / 1000
        lines.append(f"{shape.latency_ns / 1e6:9.1f} {shape.count:7} {mean_us:8.0f}  {text}")
    return lines
