"""How the budget is kept: a load of several times what the cap allows, then a small one. One command: `make budget`.

CPU of the tree is read here, from the run time of every thread; what the kernel spends is querytap's estimate.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench import machine, traffic, veth
from bench.budget.picture import draw
from bench.pipeline import cpu
from bench.pipeline.load import Load, Plan, ready
from bench.pipeline.recorder import Recorder, Setting, recording
from collector.budget.levels import ladder
from collector.reading.archive import list_archive
from collector.reading.objects import read_header
from tests.support import processes

_BEFORE_S: Final = 12
"""The budget is not enforced in the first seconds."""
_WINDOW_S: Final = 10
_REACTION_S: Final = 5
_CONNECTIONS: Final = 240


@contextmanager
def sockets_load(pair: veth.Pair, folder: Path, rate: float) -> Iterator[Load]:
    """As bench.pipeline.load.ready, over real connections."""
    progress = folder / "progress"
    progress.write_bytes(bytes(8))
    command = processes.module(
        "bench.budget.sockets", "--port", str(traffic.SERVER_PORT), "--rate", str(rate),
        "--connections", str(_CONNECTIONS), "--progress", str(progress),
    )  # fmt: skip
    process = subprocess.Popen(
        veth.inside(pair.db, command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=processes.environment(),
    )  # fmt: skip
    try:
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("the load does not start; its message is above")
        yield Load(process, progress)
    finally:
        process.kill()
        process.communicate()


def measure(arguments: argparse.Namespace, cap: float, folder: Path) -> dict[str, Any]:
    """One cap: every second, and what came of it."""
    sockets = arguments.load == "sockets"
    more = (f"budget.cpu_percent={cap}", *(('capture.interfaces=["lo"]',) if sockets else ()))
    setting = Setting(traffic.SERVER_PORT, arguments.responses, arguments.workers, 64, more)
    seconds: list[dict[str, Any]] = []
    with veth.pair() as pair, recording(pair, folder, setting) as recorder:
        sent = 0
        time.sleep(_BEFORE_S)
        for rate, length in ((arguments.rate, arguments.seconds), (arguments.low_rate, arguments.recovery)):
            plan = Plan(rate, _CONNECTIONS, 100_000)
            with sockets_load(pair, folder, rate) if sockets else ready(pair, folder, plan) as load:
                load.go()
                _watch(recorder, load, length, seconds)
                load.stop()
                sent += load.statements()
        recorder.stop()
        coverage = _coverage(folder / "state" / "archive")
    return {"cap_percent": cap, "load": arguments.load, "rate": arguments.rate, "sent": sent} | _summary(
        arguments, seconds, sent, coverage
    )


def _summary(
    arguments: argparse.Namespace, seconds: list[dict[str, Any]], sent: int, coverage: dict[str, Any]
) -> dict[str, Any]:
    busy = [one for one in seconds if one["at_s"] <= arguments.seconds]
    windows = _windows([one for one in busy if one["at_s"] > _REACTION_S])
    return {
        "levels": [level.name for level in ladder(arguments.responses, leave=False)],
        "first_second_percent": max(one["own_percent"] + one["kernel_percent"] for one in seconds[:3]),
        "most_in_a_window_percent": max(windows), "windows_percent": windows[::_WINDOW_S],
        "taken": list(dict.fromkeys(one["level"] for one in busy)),
        "recovered_after_s": _recovered(seconds, arguments.seconds),
        **coverage, "estimate_off_percent": round(100 * (coverage["estimated"] / sent - 1), 2),
        "seconds": seconds,
    }  # fmt: skip


def _watch(recorder: Recorder, load: Load, length: int, seconds: list[dict[str, Any]]) -> None:
    offset = seconds[-1]["at_s"] if seconds else 0
    began, before, told = time.monotonic(), cpu.snapshot(recorder.pid), 0
    last = began
    for number in range(1, length + 1):
        time.sleep(max(0.0, began + number - time.monotonic()))
        now, at, sent = cpu.snapshot(recorder.pid), time.monotonic(), load.statements()
        budget = recorder.status()["budget"]
        seconds.append({
            "at_s": offset + number, "sent": round((sent - told) / (at - last)),
            "own_percent": round(100 * cpu.spent(before, now).run_s / (at - last), 2),
            "kernel_percent": budget["kernel_percent"], "level": budget["level"],
        })  # fmt: skip
        before, last, told = now, at, sent


def _windows(seconds: list[dict[str, Any]]) -> list[float]:
    used = [one["own_percent"] + one["kernel_percent"] for one in seconds]
    return [round(sum(used[at : at + _WINDOW_S]) / _WINDOW_S, 2) for at in range(len(used) - _WINDOW_S + 1)]


def _recovered(seconds: list[dict[str, Any]], busy_s: int) -> int | None:
    below = [one["at_s"] for one in seconds if one["at_s"] > busy_s and one["level"] != "full"]
    if seconds[-1]["level"] != "full":
        return None
    return (below[-1] if below else busy_s) - busy_s


def _coverage(archive: Path) -> dict[str, Any]:
    """What the objects hold, and what they say that there was."""
    captured, estimated = 0, 0.0
    kinds: dict[str, int] = {}
    errors = []
    for entry in list_archive(str(archive)):
        with entry.open() as stream:
            header = read_header(stream)
        coverage = header.ledger["budget"]["coverage"]
        count = header.counts["statements"]
        captured += count
        estimated += coverage["statements"]
        kinds[coverage["of"]] = kinds.get(coverage["of"], 0) + 1
        errors.append(coverage["error"])
    return {"captured": captured, "estimated": round(estimated), "kinds": kinds, "errors": errors}


def main() -> int:
    """Measure how the budget is kept under a load of several times what it allows."""
    parser = argparse.ArgumentParser(prog="make budget ARGS=...", description=main.__doc__)
    parser.add_argument("--caps", type=float, nargs="+", default=[5.0, 10.0, 20.0], help="percent of one core")
    parser.add_argument(
        "--load", choices=("packets", "sockets"), default="packets", help="generated packets, or real connections"
    )
    parser.add_argument("--rate", type=float, default=64_000, help="statements a second")
    parser.add_argument("--low-rate", type=float, default=1000, help="the same, afterwards")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--recovery", type=int, default=60, help="seconds of the low rate")
    parser.add_argument("--responses", default="first")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--picture", type=Path, help="file for the picture (SVG)")
    parser.add_argument("--output", type=Path, help="file for the result (a new one in bench/results/)")
    arguments = parser.parse_args()
    try:
        machine.require_compiled()
        veth.become_root()
        runs = []
        for cap in arguments.caps:
            with tempfile.TemporaryDirectory(prefix="querytap-bench-") as folder:
                runs.append(measure(arguments, cap, Path(folder)))
            shown = {name: value for name, value in runs[-1].items() if name not in {"seconds", "levels", "errors"}}
            sys.stdout.write(json.dumps(shown) + "\n")
            sys.stdout.flush()
    except machine.Refused as refusal:
        sys.stderr.write(f"bench: {refusal}\n")
        return 3
    path = machine.write("budget", vars(arguments) | {"picture": None, "output": None}, runs, arguments.output)
    picture = arguments.picture or path.with_suffix(".svg")
    picture.write_text(draw(runs), encoding="utf-8")
    sys.stdout.write(f"{path}\n{picture}\n")
    return 0
