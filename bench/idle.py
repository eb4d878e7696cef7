"""What recording costs while no statement comes: `make idle`. Every process, its threads' run time and wake-ups.

`querytap run` with its defaults listens in a network namespace of its own on one end of a veth pair on which nothing is
sent. No server runs there: what looking after one costs is no part of it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.append(str(Path(__file__).parents[1]))  # last: an installed build is not hidden by the sources beside us

from bench import machine, traffic, veth
from bench.pipeline import cpu
from bench.pipeline.recorder import Setting, recording

_WARM_UP_S: Final = 15.0
"""The first batch is stored by then."""


def measure(workers: int, seconds: float, folder: Path) -> list[dict[str, Any]]:
    """A row for each role, and the whole; run time as percent of one core, wake-ups a second."""
    setting = Setting(traffic.SERVER_PORT, "first", workers, ring_mib=64)
    with veth.pair() as pair, recording(pair, folder, setting) as recorder:
        time.sleep(_WARM_UP_S)
        began, before = time.monotonic(), cpu.snapshot(recorder.pid)
        time.sleep(seconds)
        spent, elapsed = cpu.spent(before, cpu.snapshot(recorder.pid)), time.monotonic() - began
    if spent.changed:
        raise machine.Refused("processes came or went meanwhile: look at the log of querytap")
    used = {**dict(sorted(spent.roles.items())), "whole": spent.run_s}
    wakes = {**spent.wake_ups_by_role, "whole": spent.wake_ups}
    return [
        {
            "role": role,
            "cpu_percent": round(100 * run_s / elapsed, 3),
            "wake_ups_per_s": round(wakes[role] / elapsed, 2),
        }
        for role, run_s in used.items()
    ]


def main() -> int:
    """Measure what querytap costs while nothing is sent."""
    parser = argparse.ArgumentParser(prog="make idle ARGS=...", description=main.__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=120.0, help="two heartbeats of a minute are in the default")
    parser.add_argument("--output", type=Path, help="file for the result (a new one in bench/results/)")
    arguments = parser.parse_args()
    try:
        machine.require_compiled()
        veth.become_root()
        with tempfile.TemporaryDirectory(prefix="querytap-bench-") as folder:
            rows = measure(arguments.workers, arguments.seconds, Path(folder))
    except machine.Refused as refusal:
        sys.stderr.write(f"bench: {refusal}\n")
        return 3
    settings = {"workers": arguments.workers, "seconds": arguments.seconds}
    path = machine.write("idle", settings, rows, arguments.output)
    for row in rows:
        sys.stdout.write(f"{row['role']:12} {row['cpu_percent']:7.3f} % {row['wake_ups_per_s']:7.2f} wake-ups/s\n")
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
