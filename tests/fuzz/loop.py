"""Runs one target in a process of its own: many inputs, each bounded in time, all of them in memory."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import mmap
import os
import resource
import select
import signal
import struct
import time
import traceback
from pathlib import Path
from typing import Final, NoReturn

from tests.fuzz import corpus
from tests.fuzz.mutation import MOST_BYTES, Mutator

_HEAD: Final = struct.Struct("<QI")
_MEMORY_BYTES: Final = 3 << 30
"""Of address space: beyond it an allocation fails, and that is found."""
_GROWTH_BYTES: Final = 400 << 20
"""Of resident memory beyond what the corpus took."""
_LOOK_EVERY: Final = 1024
"""Inputs between two looks at clock and memory."""
_MOST_FAULTS: Final = 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits:
    """When to stop: whichever comes first. *input_seconds*: one input may take no longer."""

    inputs: int
    seconds: float
    input_seconds: float = 10
    seed: int = 1


@dataclasses.dataclass(kw_only=True)
class Figures:
    """How a run went."""

    target: str
    inputs: int = 0
    seconds: float = 0
    outcomes: int = 0
    slowest_ms: float = 0
    slowest: str = ""
    rss_mib: int = 0
    faults: list[str] = dataclasses.field(default_factory=list)

    def __str__(self) -> str:
        rate = self.inputs / self.seconds if self.seconds else 0
        return (
            f"{self.target}: {self.inputs} inputs in {self.seconds:.0f} s ({rate:.0f}/s), {self.outcomes} outcomes, "
            f"{len(self.faults)} faults, slowest {self.slowest_ms:.1f} ms of CPU, peak RSS {self.rss_mib} MiB"
        )


def run(name: str, limits: Limits, folder: Path) -> Figures:
    """Run the target in a child; what fails is put into *folder*, with its traceback."""
    folder.mkdir(parents=True, exist_ok=True)
    shared = mmap.mmap(-1, _HEAD.size + MOST_BYTES * 4)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _child(name, limits, folder, shared, writer)
    os.close(writer)
    with open(reader, "rb") as results:  # noqa: PTH123  # a descriptor has no path
        return _watch(name, child, results.fileno(), limits, shared, folder)


def _watch(name: str, child: int, results: int, limits: Limits, shared: mmap.mmap, folder: Path) -> Figures:
    """Wait for the child's figures; one that stands still or dies is a fault of the input it was at."""
    said = b""
    before, since = -1, time.monotonic()
    while True:
        ready, _, _ = select.select([results], [], [], 1)
        piece = os.read(results, 1 << 16) if ready else None
        if piece == b"":
            break
        said += piece or b""
        count, _ = _HEAD.unpack_from(shared)
        if count != before:
            before, since = count, time.monotonic()
        elif time.monotonic() - since > limits.input_seconds and count:
            os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if said:
        return Figures(**json.loads(said))
    count, size = _HEAD.unpack_from(shared)
    data = shared[_HEAD.size : _HEAD.size + size]
    why = "it takes too long" if os.WTERMSIG(status) == signal.SIGKILL else f"it ends its process: {status}"
    return Figures(target=name, inputs=count, faults=[_keep(folder, data, why)])


def _child(name: str, limits: Limits, folder: Path, shared: mmap.mmap, writer: int) -> NoReturn:
    """Never returns; a way out by exception would run the parent's code twice."""
    code = 1
    try:
        with contextlib.suppress(KeyboardInterrupt):
            figures = _loop(name, limits, folder, shared)
            os.write(writer, json.dumps(dataclasses.asdict(figures)).encode())
            code = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(code)


def _loop(name: str, limits: Limits, folder: Path, shared: mmap.mmap) -> Figures:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    one, inputs = corpus.target(name), corpus.load(name) or corpus.seeds(name)
    mutator = Mutator(inputs, limits.seed)
    figures = Figures(target=name)
    known: set[tuple[str, int]] = set()
    slowest, most_rss = 0, 0
    begin = time.monotonic()
    before = time.process_time_ns()
    for count, data in enumerate(mutator.inputs(), 1):
        shared[: _HEAD.size + len(data)] = _HEAD.pack(count, len(data)) + data
        try:
            mutator.learn(data, one(data))
        except Exception as error:  # noqa: BLE001  # whatever comes out is what is looked for
            _note(error, data, folder, known, figures)
        now = time.process_time_ns()
        if now - before > slowest:
            slowest = now - before
            figures.slowest = data.hex()
        before = now
        if count % _LOOK_EVERY == 0 or count >= limits.inputs:
            rss = _resident_bytes()
            most_rss = most_rss or rss + _GROWTH_BYTES
            if rss > most_rss:
                figures.faults.append(_keep(folder, data, f"memory has grown to {rss} bytes"))
            if count >= limits.inputs or time.monotonic() - begin >= limits.seconds or rss > most_rss:
                figures.inputs = count
                break
    figures.seconds = time.monotonic() - begin
    figures.outcomes = mutator.outcomes
    figures.slowest_ms = slowest / 1e6
    figures.rss_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return figures


def _note(error: Exception, data: bytes, folder: Path, known: set[tuple[str, int]], figures: Figures) -> None:
    """Keep the first input of each place that fails."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = (last.filename + type(error).__name__, last.lineno or 0)
    if place not in known and len(known) < _MOST_FAULTS:
        known.add(place)
        figures.faults.append(_keep(folder, data, "".join(traceback.format_exception(error))))


def _keep(folder: Path, data: bytes, why: str) -> str:
    path = folder / hashlib.sha256(data).hexdigest()[:12]
    path.write_bytes(data)
    path.with_suffix(".txt").write_text(why, encoding="utf-8", errors="backslashreplace")
    return f"{path}: {why.strip().splitlines()[-1]}"


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * mmap.PAGESIZE
