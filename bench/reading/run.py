"""Measures digest and search, CPU and memory, beside other tools over the same statements as text."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bench import machine
from bench.reading import archive

_NEEDLE: Final = "user4711@"
_PEER_STATEMENTS: Final = 50_000
_MB: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Cost:
    """What one command took. It reads with one process: those of a pool are not its children, and would not count."""

    what: str
    statements: int
    cpu_s: float
    wall_s: float
    memory_mib: float
    """The most that one of its processes had."""
    text_mb: float
    """Of these statements as a slow log."""

    def line(self) -> str:
        """For the table."""
        rate = self.statements / self.cpu_s
        return (
            f"| {self.what} | {self.cpu_s:.1f} | {1e6 * self.cpu_s / self.statements:.1f} | {rate:,.0f} |"
            f" {self.text_mb / self.cpu_s:.1f} | {self.memory_mib:.0f} |"
        )


def main() -> int:
    """Make the archive, measure, print a table and write the result."""
    parser = argparse.ArgumentParser(prog="python -m bench.reading", description=__doc__)
    parser.add_argument("--statements", type=int, default=1_000_000, help="in the archive (default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="for archive and logs; kept (default: a temporary one)")
    arguments = parser.parse_args()
    try:
        machine.require_compiled()
    except machine.Refused as refused:
        print(refused, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary) / "reading"
        key = folder / "reader.key" if folder.exists() else archive.make(folder, arguments.statements)
        costs = list(_measure(folder, key, arguments.statements))
    print("| command | CPU s | us a statement | statements/s of CPU | MB/s of CPU | MiB |")
    print("|---|---|---|---|---|---|")
    for cost in costs:
        print(cost.line())
    machine.RESULTS.mkdir(exist_ok=True)
    result = {"machine": machine.describe(), "costs": [asdict(cost) for cost in costs]}
    name = f"reading-{datetime.now(UTC):%Y%m%dT%H%M%S}.json"
    (machine.RESULTS / name).write_text(json.dumps(result, indent=1))
    return 0


def _measure(folder: Path, key: Path, statements: int) -> Iterator[Cost]:
    querytap = [sys.executable, "-m", "collector.cli"]
    where = [str(folder / "archive"), "--key", str(key), "--jobs", "1"]
    log, packed, part = folder / "slow.log", folder / "slow.log.zst", folder / "part.log"

    def cost(what: str, command: Sequence[str], output: Path | None = None, count: int = statements) -> Cost:
        cpu_s, wall_s, memory_mib = _run(command, output)
        return Cost(what, count, cpu_s, wall_s, memory_mib, log.stat().st_size * count / statements / _MB)

    first = cost("read --format slowlog", [*querytap, "read", *where, "--format", "slowlog"], log)
    yield first
    yield cost("read --format json", [*querytap, "read", *where, "--format", "json"])
    yield cost(f"read --text {_NEEDLE}", [*querytap, "read", *where, "--text", _NEEDLE])
    yield cost("read --regex 'total_cents.*LIMIT 50'", [*querytap, "read", *where, "--regex", "total_cents.*LIMIT 50"])
    yield cost("read --min-latency 1s", [*querytap, "read", *where, "--min-latency", "1s"])
    yield cost("digest", [*querytap, "digest", *where])
    yield cost("digest --by user", [*querytap, "digest", *where, "--by", "user"])
    yield cost("verify", [*querytap, "verify", *where[:1], "--jobs", "1"])
    if shutil.which("zstd"):
        subprocess.run(["zstd", "-q", "-f", "-3", str(log), "-o", str(packed)], check=True)
        yield cost("zstdcat slow.log.zst, grep", ["sh", "-c", f"zstdcat {packed} | grep -c {_NEEDLE}"])
    if shutil.which("pt-query-digest"):
        count = min(statements, _PEER_STATEMENTS)
        _first_entries(log, part, count)
        yield cost("pt-query-digest slow.log", ["pt-query-digest", "--no-version-check", str(part)], count=count)


def _run(command: Sequence[str], output: Path | None) -> tuple[float, float, float]:
    """CPU and wall time in seconds, and the most memory of one process in MiB."""
    timer = [sys.executable, "-c", _TIMER, *command]
    with (output or Path(os.devnull)).open("wb") as out:
        done = subprocess.run(timer, stdout=out, stderr=subprocess.PIPE, check=False)
    cpu_s, wall_s, memory_kib = map(float, done.stderr.decode().splitlines()[-1].split())
    return cpu_s, wall_s, memory_kib / 1024


_TIMER: Final = """
import resource, subprocess, sys, time
begin = time.monotonic()
subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, time.monotonic() - begin, used.ru_maxrss, file=sys.stderr)
"""
"""In a process of its own, so that its children are those of one command."""


def _first_entries(log: Path, part: Path, count: int) -> None:
    with log.open("rb") as source, part.open("wb") as target:
        for line in source:
            count -= line.startswith(b"# Time: ")
            if count < 0:
                return
            target.write(line)
