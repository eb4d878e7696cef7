"""How small the record gets and what that costs, by layout, zstd level and dictionary: `python bench/layouts.py`.

The published workload, or the mix of bench/mixed.py, goes through the real pipeline with the first part of each answer.
What is compressed is what the aggregator compresses; beside it are the same statements as one text log. CPU time is
that of zstd alone, the median of interleaved rounds.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgpack
import zstandard

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.append(str(Path(__file__).parents[1]))  # last: an installed build is not hidden by the sources beside us

from bench import frames, machine, mixed, traffic
from bench.reading import archive
from collector.aggregator.compress import GATHER_BYTES
from workers import records
from workers.pipeline import Pipeline
from workers.settings import Settings

_LEVELS: Final = (-3, 1, 2, 3, 4, 5, 6, 7, 9)
_DICTIONARY_BYTES: Final = 110 << 10
_SAMPLE_BYTES: Final = 4096
_LITERAL: Final = re.compile(rb"'((?:[^'\\]|\\.)*)'|(\b\d+\b|\b(?=[a-zA-Z]*\d)\w{12,}\b)")
"""Text in quotes, numbers, and long words with digits in them, which are ids."""
_PLAIN: Final = re.compile(rb"0|[1-9]\d{0,17}")
_LARGE_FRAME: Final = 16 << 20
_SMALL_FRAMES: Final = 200  # of a block: a hundred statements and their answers, as of a host with few
_SMALL_BATCH: Final = 5  # blocks

Block = tuple[bytes, bytes]


class Way(NamedTuple):
    """One way to compress: what goes into each frame, and how."""

    layout: str
    level: int
    contents: Sequence[bytes]
    dictionary: zstandard.ZstdCompressionDict | None = None
    long_distance: bool = False

    def compressor(self) -> zstandard.ZstdCompressor:
        """A new one for it."""
        if not self.long_distance:
            return zstandard.ZstdCompressor(self.level, dict_data=self.dictionary, write_content_size=True)
        wide = zstandard.ZstdCompressionParameters.from_level(self.level, enable_ldm=True, window_log=24)
        return zstandard.ZstdCompressor(compression_params=wide)


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


def literals_apart(blocks: Sequence[Block], *, in_columns: bool) -> list[bytes]:
    """Each statement as its shape's number in the block and its literals: in the order of rows, or in a column for each
    place of each shape, numbers as byte planes. Splitting is not in the CPU time.
    """
    return _gathered(msgpack.packb([head, _split(msgpack.unpackb(body), in_columns)]) for head, body in blocks)


def text_log(blocks: Iterable[Block]) -> list[bytes]:
    """One content with a line for each statement: time, client, text, and the bound values where there are some."""
    lines = (
        b"%d %s %s%s\n" % (one.time_ns, one.session.client.encode(), one.sql or b"", _values(one))
        for _, body in blocks
        for one in records.statements(body)
    )
    return [b"".join(lines)]


def measure(ways: Sequence[Way], held: int, rounds: int) -> list[dict[str, Any]]:
    """A row for each way; *held* statements are in the contents of each."""
    taken: list[list[int]] = [[] for _ in ways]
    sizes = [0] * len(ways)
    for _ in range(rounds):
        for number, way in enumerate(ways):
            made = way.compressor()
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


def large(blocks: Sequence[Block]) -> list[Way]:
    """What a busy host compresses: frames of 1 MiB."""
    now, log = together(blocks), text_log(blocks)
    trained = zstandard.train_dictionary(_DICTIONARY_BYTES, _samples(now[: max(1, len(now) // 8)]))
    rows, columns = (literals_apart(blocks, in_columns=in_columns) for in_columns in (False, True))
    in_one = _gathered(now, _LARGE_FRAME)
    return [
        *(Way("text log", level, log) for level in (1, 3, 9)),
        *(Way("as it is", level, now) for level in _LEVELS),
        Way("frames of 16 MiB", 1, in_one),
        Way("frames of 16 MiB, long distance", 1, in_one, long_distance=True),
        *(Way("texts apart", level, texts_apart(blocks)) for level in (1, 3, 6)),
        *(Way("literals apart, by rows", level, rows) for level in (-3, 1, 3)),
        *(Way("literals apart, in columns", level, columns) for level in (-3, 1, 3)),
        *(Way("with a dictionary", level, now, trained) for level in (1, 3)),
    ]


def small(blocks: Sequence[Block]) -> list[Way]:
    """What a host with few statements compresses: a batch of five hundred is a frame."""
    batches = [blocks[first : first + _SMALL_BATCH] for first in range(0, len(blocks), _SMALL_BATCH)]
    learnt = max(1, len(batches) // 8)  # the dictionary comes from these and is tried on the others
    now = [content for batch in batches[learnt:] for content in together(batch)]
    earlier = [content for batch in batches[:learnt] for content in together(batch)]
    trained = zstandard.train_dictionary(_DICTIONARY_BYTES, _samples(earlier))
    return [
        *(Way("500 statements, as it is", level, now) for level in (1, 3, 6)),
        *(Way("500 statements, with a dictionary", level, now, trained) for level in (1, 3, 6)),
    ]


def spent(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """Bytes a statement of each part of the blocks at level 1: as it stands, and compressed by itself."""
    bodies = [msgpack.unpackb(body) for _, body in blocks]
    held = sum(parts["rows"] for parts in bodies)
    compressor = zstandard.ZstdCompressor(1)
    names = sorted({name for parts in bodies for name in parts["columns"]})
    found = {name: [parts["columns"].get(name, b"") for parts in bodies] for name in names}
    for name in ("sql", "parameters", "error", "strings", "sessions"):
        found[name] = [msgpack.packb(parts[name]) for parts in bodies]
    found["heads"] = [head for head, _ in blocks]
    return [
        {
            "part": name,
            "raw": round(sum(map(len, contents)) / held, 2),
            "bytes": round(sum(len(compressor.compress(content)) for content in contents) / held, 2),
        }
        for name, contents in found.items()
    ]


def recorded(mix: str, times: str, statements: int, frames_a_block: int = 1 << 62) -> list[Block]:
    """Head and body of each block of a *mix*; one is taken when full, or after so many frames."""
    if mix == "mixed":
        timed = mixed.timed(statements, archive.RATE, archive.START_NS)
    else:
        made = traffic.generate(traffic.Workload(statements))
        timed = (traffic.timed if times == "even" else mixed.random_times)(made, archive.RATE, archive.START_NS)
    pipeline = Pipeline(0, 0, Settings(ports=(traffic.SERVER_PORT,), responses="first"))
    blocks: list[Block] = []
    latest_ns = archive.START_NS
    for number, (latest_ns, frame) in enumerate(timed, 1):
        size = len(frame) - frames.ETHERNET_BYTES
        pipeline.packet(frame, frames.ETHERNET_BYTES, len(frame), latest_ns, size)
        if pipeline.full or number % frames_a_block == 0:
            blocks.append(pipeline.take_block(latest_ns))
    return [*blocks, pipeline.take_block(latest_ns, final=True)]


def main() -> int:
    """Measure, print and keep it."""
    parser = argparse.ArgumentParser(prog="python bench/layouts.py", description=__doc__)
    parser.add_argument("--statements", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mix", choices=("published", "mixed"), default="published")
    parser.add_argument("--times", choices=("even", "random"), default="random", help="of the published workload")
    parser.add_argument("--output", type=Path, help="file for the result (a new one in bench/results/)")
    arguments = parser.parse_args()
    machine.require_compiled()
    many = recorded(arguments.mix, arguments.times, arguments.statements)
    few = [block for block in recorded(arguments.mix, arguments.times, arguments.statements, _SMALL_FRAMES) if block[1]]
    rows = measure(large(many), _held(many), arguments.rounds)
    learnt = max(1, -(-len(few) // _SMALL_BATCH) // 8) * _SMALL_BATCH
    rows += measure(small(few), _held(few[learnt:]), arguments.rounds)
    base = next(row for row in rows if (row["layout"], row["level"]) == ("text log", 3))
    print(f"{'layout':34} {'level':>5} {'bytes':>6} {'ns':>6}   of zstd -3 over the text log: bytes, CPU")
    for row in rows:
        shares = f"{row['bytes'] / base['bytes']:6.0%} {row['ns'] / base['ns']:5.0%}"
        print(f"{row['layout']:34} {row['level']:5} {row['bytes']:6.1f} {row['ns']:6.0f}   {shares}")
    print(f"\n{'part of a block':22} {'raw':>6} {'bytes':>6}")
    parts = spent(many)
    for part in parts:
        print(f"{part['part']:22} {part['raw']:6.2f} {part['bytes']:6.2f}")
    rows += parts
    print(machine.write("layouts", vars(arguments) | {"output": None}, rows, arguments.output))
    return 0


def _held(blocks: Iterable[Block]) -> int:
    return sum(msgpack.unpackb(head)["statements"] for head, _ in blocks)


def _values(one: records.Statement) -> bytes:
    return b" %s" % repr(one.parameters).encode() if one.parameters else b""


def _split(parts: dict[str, Any], in_columns: bool) -> dict[str, Any]:
    sql, rows = parts.pop("sql"), parts["rows"]
    column = parts["columns"].pop("sql_size", b"")
    shapes: dict[bytes, int] = {}
    numbers: list[int] = []
    literals: dict[tuple[int, int], list[bytes]] = {}
    at = 0
    for row in range(rows):
        size = sum(column[plane * rows + row] << (8 * plane) for plane in range(len(column) // rows))
        if not size:
            numbers.append(0)
            continue
        text = sql[at : at + size - 1]
        at += size - 1
        number = shapes.setdefault(_LITERAL.sub(_mark, text), len(shapes) + 1)
        numbers.append(number)
        for place, (quoted, plain) in enumerate(_LITERAL.findall(text)):
            literals.setdefault((number, place) if in_columns else (0, 0), []).append(quoted or plain)
    columns = [_column(values, in_columns) for _, values in sorted(literals.items())]
    return {**parts, "shapes": list(shapes), "numbers": _planes(numbers), "literals": columns}


def _mark(found: re.Match[bytes]) -> bytes:
    return b"?" if found[1] is None else b"'?'"


def _column(values: list[bytes], in_columns: bool) -> bytes:
    if in_columns and all(map(_PLAIN.fullmatch, values)):
        return _planes([int(value) for value in values])
    return b"\0".join(values)


def _planes(numbers: Sequence[int]) -> bytes:
    width = (max(numbers).bit_length() + 7) // 8
    return b"".join(bytes(number >> (8 * plane) & 0xFF for number in numbers) for plane in range(width))


def _samples(contents: Iterable[bytes]) -> list[bytes | bytearray | memoryview[int]]:
    return [content[at : at + _SAMPLE_BYTES] for content in contents for at in range(0, len(content), _SAMPLE_BYTES)]


def _gathered(parts: Iterable[bytes], most: int = GATHER_BYTES) -> list[bytes]:
    found: list[bytes] = []
    gathered: list[bytes] = []
    size = 0
    for part in parts:
        if gathered and size + len(part) > most:
            found.append(b"".join(gathered))
            gathered, size = [], 0
        gathered.append(part)
        size += len(part)
    return [*found, b"".join(gathered)]


if __name__ == "__main__":
    sys.exit(main())
