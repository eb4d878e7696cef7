"""How small the record gets and what that costs, by layout, zstd level and dictionary: `python bench/layouts.py`.

The published workload goes through the real pipeline with the first part of each answer. What is compressed is what the
aggregator compresses; beside it are the same statements as a text log. CPU time is that of zstd alone, the median of
interleaved rounds.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgpack
import zstandard

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.append(str(Path(__file__).parents[1]))  # last: an installed build is not hidden by the sources beside us

from bench import machine
from bench.reading import archive
from collector.aggregator.compress import GATHER_BYTES
from workers import records

_LEVELS: Final = (-3, 1, 2, 3, 4, 5, 6, 7, 9)
_DICTIONARY_BYTES: Final = 110 << 10
_SAMPLE_BYTES: Final = 4096
_LITERAL: Final = re.compile(rb"'(?:[^'\\]|\\.)*'|\b\d+(?:\.\d+)?\b")
_SMALL_FRAMES: Final = 200  # of a block: a hundred statements and their answers, as of a host with few
_SMALL_BATCH: Final = 5  # blocks

Block = tuple[bytes, bytes]


class Way(NamedTuple):
    """One way to compress: what goes into each frame, and how."""

    layout: str
    level: int
    contents: Sequence[bytes]
    dictionary: zstandard.ZstdCompressionDict | None = None


def together(blocks: Iterable[Block]) -> list[bytes]:
    """As the aggregator does: heads and bodies one behind the other, in frames of GATHER_BYTES."""
    return _gathered(msgpack.packb([head, body]) for head, body in blocks)


def texts_apart(blocks: Sequence[Block]) -> list[bytes]:
    """The texts of statements in frames of their own, all else in others."""
    rest, texts = [], []
    for head, body in blocks:
        parts = msgpack.unpackb(body)
        texts.append(parts.pop("sql") + parts.pop("parameters", b""))
        rest.append(msgpack.packb([head, parts]))
    return _gathered(texts) + _gathered(rest)


def literals_apart(blocks: Sequence[Block]) -> list[bytes]:
    """Each statement as its shape's number in the block and its literals. Splitting is not in the CPU time."""
    return _gathered(msgpack.packb([head, _split(msgpack.unpackb(body))]) for head, body in blocks)


def text_log(blocks: Iterable[Block]) -> list[bytes]:
    """A line for each statement: time, client, text."""
    lines = [
        b"%d %s %s\n" % (one.time_ns, one.session.client.encode(), one.sql or b"")
        for _, body in blocks
        for one in records.statements(body)
    ]
    return _gathered(lines)


def measure(ways: Sequence[Way], held: int, rounds: int) -> list[dict[str, Any]]:
    """A row for each way; *held* statements are in the contents of each."""
    taken: list[list[int]] = [[] for _ in ways]
    sizes = [0] * len(ways)
    for _ in range(rounds):
        for number, way in enumerate(ways):
            made = zstandard.ZstdCompressor(way.level, dict_data=way.dictionary, write_content_size=True)
            began = time.thread_time_ns()
            sizes[number] = sum(len(made.compress(content)) for content in way.contents)
            taken[number].append(time.thread_time_ns() - began)
    return [
        {
            "layout": way.layout,
            "level": way.level,
            "bytes": round(size / held, 2),
            "ns": round(statistics.median(times) / held, 1),
        }
        for way, size, times in zip(ways, sizes, taken, strict=True)
    ]


def large(statements: int) -> list[Way]:
    """What a busy host compresses: frames of 1 MiB."""
    blocks = list(archive.blocks(statements))
    now = together(blocks)
    log = text_log(blocks)
    trained = zstandard.train_dictionary(_DICTIONARY_BYTES, _samples(now[: max(1, len(now) // 8)]))
    apart, split = texts_apart(blocks), literals_apart(blocks)
    return [
        *(Way("text log", level, log) for level in (1, 3, 9)),
        *(Way("as it is", level, now) for level in _LEVELS),
        *(Way("texts apart", level, apart) for level in (1, 3, 6)),
        *(Way("literals apart", level, split) for level in (1, 3, 6)),
        *(Way("with a dictionary", level, now, trained) for level in (1, 3)),
    ]


def small(statements: int) -> list[Way]:
    """What a host with few statements compresses: a batch of five hundred is a frame."""
    blocks = list(archive.blocks(statements, _SMALL_FRAMES))
    batches = [blocks[first : first + _SMALL_BATCH] for first in range(0, len(blocks), _SMALL_BATCH)]
    now = [content for batch in batches for content in together(batch)]
    trained = zstandard.train_dictionary(_DICTIONARY_BYTES, _samples(now[: max(1, len(now) // 8)]))
    return [
        *(Way("500 statements, as it is", level, now) for level in (1, 3, 6)),
        *(Way("500 statements, with a dictionary", level, now, trained) for level in (1, 3, 6)),
    ]


def main() -> int:
    """Measure, print and keep it."""
    parser = argparse.ArgumentParser(prog="python bench/layouts.py", description=__doc__)
    parser.add_argument("--statements", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, help="file for the result (a new one in bench/results/)")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    makers: Sequence[Callable[[int], list[Way]]] = (large, small)
    for make in makers:
        rows += measure(make(arguments.statements), arguments.statements, arguments.rounds)
    base = next(row for row in rows if (row["layout"], row["level"]) == ("text log", 3))
    print(f"{'layout':34} {'level':>5} {'bytes':>6} {'ns':>6}   of zstd -3 over the text log: bytes, CPU")
    for row in rows:
        shares = f"{row['bytes'] / base['bytes']:6.0%} {row['ns'] / base['ns']:5.0%}"
        print(f"{row['layout']:34} {row['level']:5} {row['bytes']:6.1f} {row['ns']:6.0f}   {shares}")
    print(machine.write("layouts", vars(arguments) | {"output": None}, rows, arguments.output))
    return 0


def _split(parts: dict[str, Any]) -> dict[str, Any]:
    sql, rows, column = parts.pop("sql"), parts["rows"], parts["columns"]["sql_size"]
    shapes: dict[bytes, int] = {}
    numbers, literals = [], []
    at = 0
    for row in range(rows):
        size = sum(column[plane * rows + row] << (8 * plane) for plane in range(len(column) // rows))
        if size:
            text = sql[at : at + size - 1]
            at += size - 1
            numbers.append(shapes.setdefault(_LITERAL.sub(b"?", text), len(shapes)))
            literals.append(b"\0".join(_LITERAL.findall(text)))
    low, high = bytes(each & 0xFF for each in numbers), bytes(each >> 8 for each in numbers)
    return {**parts, "shapes": list(shapes), "numbers": low + high, "literals": b"\1".join(literals)}


def _samples(contents: Iterable[bytes]) -> list[bytes | bytearray | memoryview[int]]:
    return [content[at : at + _SAMPLE_BYTES] for content in contents for at in range(0, len(content), _SAMPLE_BYTES)]


def _gathered(parts: Iterable[bytes]) -> list[bytes]:
    found: list[bytes] = []
    gathered: list[bytes] = []
    size = 0
    for part in parts:
        if gathered and size + len(part) > GATHER_BYTES:
            found.append(b"".join(gathered))
            gathered, size = [], 0
        gathered.append(part)
        size += len(part)
    return [*found, b"".join(gathered)]


if __name__ == "__main__":
    sys.exit(main())
