"""Nanoseconds and instructions a statement, from a ring's blocks to finished blocks: whole, by stage, by command."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench import machine, traffic
from bench.micro import kinds, ring_image
from collector.config import Config
from tests.support import processes
from workers.settings import RESPONSES

_COUNTED: Final = (4_000, 12_000)  # statements: few, for callgrind is some fifty times slower
_TIMEOUT_NS: Final = Config().capture.block_timeout_ms * 1_000_000
_START_NS: Final = 1_760_000_000_000_000_000
_BLOCK_STATEMENTS: Final = 4_000
_OTHER_PORT: Final = 1  # where no server listens


@dataclass(frozen=True, slots=True)
class Input:
    """One ring image on disk, and what is in it; *port*: the server's, as the worker is told."""

    image: Path
    ends: Path
    statements: int
    packets: int
    responses: str
    port: int = traffic.SERVER_PORT

    def command(self, passes: int) -> list[str]:
        """The measured process over it."""
        return processes.module(
            "bench.micro.feed", str(self.image), str(self.ends), "--port", str(self.port),
            "--responses", self.responses, "--passes", str(passes),
        )  # fmt: skip


class Bench:
    """Makes inputs in a folder and measures them."""

    def __init__(self, folder: Path, statements: int, rate: float, passes: int, counts: bool) -> None:
        """*counts*: callgrind counts instructions."""
        self._folder = folder
        self._statements = statements
        self._rate = rate
        self._passes = passes
        self._counts = counts and shutil.which("valgrind") is not None

    def whole(self, responses: str) -> dict[str, Any]:
        """The whole path over the published workload."""
        found = self._workload(self._statements, responses)
        done, cpu = self._timed(found.command(self._passes + 1), found.statements)
        counters = done["counters"]
        # A statement each, and the login, and the QUIT of 40 connections.
        if counters["statements_packed"] < found.statements or counters["packets_used"] > found.packets:
            raise AssertionError(f"{found.statements} statements were fed and not all came out: {counters}")
        result = {
            "responses": responses,
            "statements": found.statements,
            "packets_per_statement": round(found.packets / found.statements, 3),
            "passes": self._passes,
            **_spread(cpu),
            "wall_ns": round(statistics.median(done["wall_ns"][1:]) / found.statements, 1),
            "block_bytes_per_statement": round(done["block_bytes"] / found.statements, 1),
            "blocks": done["blocks"],
        }
        if self._counts:
            result["instructions"] = self._instructions(lambda count: self._workload(count, responses).command(1))
        return result

    def stages(self, whole: dict[str, Any]) -> list[dict[str, Any]]:
        """What each stage takes of *whole*: how much longer it takes with it than without."""
        responses = whole["responses"]
        until_headers = self._part(lambda count: self._workload(count, responses, port=_OTHER_PORT))
        until_streams = self._part(lambda count: self._workload(count, responses, encrypted=True))
        blocks = self._blocks(responses)
        parts = {"headers": until_headers}
        parts["streams"] = {key: until_streams[key] - until_headers[key] for key in until_headers}
        parts["mysql"] = {key: whole[key] - until_streams[key] - blocks[key] for key in blocks}
        parts["block"] = blocks
        return [
            {"responses": responses, "stage": name, **{key: round(value, 1) for key, value in part.items()}}
            for name, part in parts.items()
        ]

    def kind(self, kind: kinds.Kind, responses: str) -> dict[str, Any]:
        """The whole path over one kind of command."""
        found = self._image(kinds.generate(kind, self._statements), self._statements, responses)
        done, cpu = self._timed(found.command(self._passes + 1), found.statements)
        if done["counters"]["statements_packed"] < found.statements:
            raise AssertionError(f"{kind.name}: not all came out: {done['counters']}")
        result = {"responses": responses, "command": kind.name, **_spread(cpu)}
        if self._counts:
            result["instructions"] = self._instructions(
                lambda count: self._image(kinds.generate(kind, count), count, responses).command(1)
            )
        return result

    def _part(self, prepare: Callable[[int], Input]) -> dict[str, float]:
        _, cpu = self._timed(prepare(self._statements).command(self._passes + 1), self._statements)
        found = {"cpu_ns": statistics.median(cpu)}
        if self._counts:
            found["instructions"] = self._instructions(lambda count: prepare(count).command(1))
        return found

    def _blocks(self, responses: str) -> dict[str, float]:
        def command(count: int, passes: int) -> list[str]:
            given = ("--statements", str(count), "--responses", responses, "--passes", str(passes))
            return processes.module("bench.micro.blocks", *given)

        passes = self._passes * self._statements // _BLOCK_STATEMENTS
        _, cpu = self._timed(command(_BLOCK_STATEMENTS, passes + 1), _BLOCK_STATEMENTS)
        found = {"cpu_ns": statistics.median(cpu)}
        if self._counts:
            twice, once = (self._collected(command(_BLOCK_STATEMENTS, passes)) for passes in (3, 1))
            found["instructions"] = (twice - once) / 2 / _BLOCK_STATEMENTS
        return found

    def _workload(self, count: int, responses: str, *, encrypted: bool = False, port: int | None = None) -> Input:
        generated = traffic.generate(traffic.Workload(count, encrypted=encrypted))
        return self._image(traffic.timed(generated, self._rate, _START_NS), count, responses, port)

    def _image(
        self, stamped: Iterable[tuple[int, bytes]], count: int, responses: str, port: int | None = None
    ) -> Input:
        image = ring_image.build(stamped, traffic.SERVER_PORT, responses, _TIMEOUT_NS)
        data, ends = self._folder / "image", self._folder / "ends.json"
        data.write_bytes(image.data)
        ends.write_text(json.dumps(image.ends_ns), encoding="utf-8")
        return Input(data, ends, count, image.packets, responses, port or traffic.SERVER_PORT)

    @staticmethod
    def _timed(command: Sequence[str], count: int) -> tuple[dict[str, Any], list[float]]:
        """What the process said, and nanoseconds a statement of all passes but the first, which only warms up."""
        done = json.loads(processes.run(command, 600).stdout)
        return done, [ns / count for ns in done["cpu_ns"][1:]]

    def _instructions(self, command: Callable[[int], list[str]]) -> float:
        """Instructions a statement, as callgrind counts them.

        The difference between a pass over few statements and one over more: what start-up, logins and the making of
        a pipeline cost cancels out.
        """
        few, more = (self._collected(command(count)) for count in _COUNTED)
        return round((more - few) / (_COUNTED[1] - _COUNTED[0]), 1)

    def _collected(self, command: Sequence[str]) -> int:
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self._folder}/callgrind.out"]
        errors = processes.run([*tool, *command], 1200).stderr.decode()
        found = re.search(r"Collected : (\d+)", errors)
        if found is None:
            raise AssertionError(f"callgrind said nothing of instructions: {errors[-500:]}")
        return int(found.group(1))


def _spread(cpu: list[float]) -> dict[str, float]:
    return {
        "cpu_ns": round(statistics.median(cpu), 1),
        "cpu_ns_least": round(min(cpu), 1),
        "cpu_ns_most": round(max(cpu), 1),
    }


def measure(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """One result for each `responses` setting, with its stages and its kinds of commands."""
    results = []
    with tempfile.TemporaryDirectory(prefix="querytap-micro-") as name:
        given = (arguments.statements, arguments.rate, arguments.passes, arguments.instructions)
        bench = Bench(Path(name), *given)
        for responses in arguments.responses:
            result = bench.whole(responses)
            if not arguments.whole:
                result["stages"] = bench.stages(result)
                result["kinds"] = [bench.kind(kind, responses) for kind in kinds.KINDS]
            results.append(result)
    return results


def table(results: list[dict[str, Any]]) -> str:
    """The results for a reader."""
    lines = ["responses  packets  ns a statement (least..most)  instructions  block bytes"]
    for one in results:
        packets, size = one["packets_per_statement"], one["block_bytes_per_statement"]
        lines.append(f"{one['responses']:9}  {packets:7.2f}  {_figures(one)}  {size:11.1f}")
    for one in results:
        for part in one.get("stages", ()):
            counted = f"{part['instructions']:.0f}" if "instructions" in part else "-"
            lines.append(f"{one['responses']:9}  {part['stage']:32}  {part['cpu_ns']:6.0f} ns  {counted:>12}")
        lines += [f"{one['responses']:9}  {part['command']:32}  {_figures(part)}" for part in one.get("kinds", ())]
    return "\n".join(lines)


def _figures(one: dict[str, Any]) -> str:
    spread = f"{one['cpu_ns']:.0f} ({one['cpu_ns_least']:.0f}..{one['cpu_ns_most']:.0f})"
    counted = f"{one['instructions']:.0f}" if "instructions" in one else "-"
    return f"{spread:28}  {counted:>12}"


def main() -> int:
    """Measure what one statement costs a worker, without kernel, ZeroMQ and aggregator."""
    parser = argparse.ArgumentParser(prog="make micro ARGS=...", description=main.__doc__)
    parser.add_argument("--statements", type=int, default=60_000)
    parser.add_argument("--rate", type=float, default=4_000, help="statements a second, by the time stamps")
    parser.add_argument("--passes", type=int, default=15)
    parser.add_argument("--responses", nargs="+", choices=RESPONSES, default=["none", "first"])
    parser.add_argument("--whole", action="store_true", help="the published workload alone: no stages, no kinds")
    parser.add_argument("--no-instructions", dest="instructions", action="store_false", help="do not run callgrind")
    parser.add_argument("--output", type=Path, help="file for the result (a new one in bench/results/)")
    arguments = parser.parse_args()
    try:
        machine.require_compiled()
    except machine.Refused as refusal:
        sys.stderr.write(f"bench: {refusal}\n")
        return 3
    results = measure(arguments)
    settings = {"statements": arguments.statements, "rate": arguments.rate, "passes": arguments.passes}
    path = machine.write("micro", settings, results, arguments.output)
    sys.stdout.write(f"{table(results)}\n{path}\n")
    return 0
