"""CPU microseconds a statement of the whole process tree at several rates, beside tcpdump on the same packets."""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any, Final

from bench import machine, traffic, veth
from bench.pipeline import cpu
from bench.pipeline.load import Plan
from bench.pipeline.recorder import Setting
from bench.pipeline.ways import Way, ways
from bench.pipeline.window import Run, measure
from workers.settings import RESPONSES

RATES: Final = (1_000, 2_000, 4_000, 8_000, 16_000)
_TOOLS: Final = ("ip", "nsenter", "unshare")
_QUIET_PERCENT: Final = 15
"""Of one core, what other programs may take without disturbing a figure."""
_METHODS: Final = ("ring", "ring-v2", "socket")
_COMPARED: Final = ("responses", "method", "block_kib", "timeout_ms", "rate")
_TREES: Final = ("querytap", "tcpdump", "tcpdump_all")


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Median and extremes of the repeats of one rate and setting."""
    result: dict[str, Any] = {name: runs[0][name] for name in _COMPARED}
    result["way"] = Way(result["method"], result["block_kib"], result["timeout_ms"]).label
    result["repeats"] = len(runs)
    for tree in (name for name in _TREES if name in runs[0]):
        values = [run[tree]["cpu_us_per_statement"] for run in runs]
        result[tree] = {"median": round(statistics.median(values), 3), "least": min(values), "most": max(values)}
    roles = {name for run in runs for name in run["querytap"]["us_per_statement_by_role"]}
    result["roles"] = {
        name: round(statistics.median(run["querytap"]["us_per_statement_by_role"].get(name, 0.0) for run in runs), 3)
        for name in sorted(roles)
    }
    for name in ("cpu_percent", "memory_mib", "wake_ups_per_s"):
        result[name] = statistics.median(run["querytap"][name] for run in runs)
    for name in ("archive_bytes_per_statement", "others_cpu_percent"):
        result[name] = statistics.median(run[name] for run in runs)
    result["sent"] = sum(run["sent"]["statements"] for run in runs)
    for name in ("found", "packets_dropped"):
        result[name] = sum(run[name] for run in runs)
    return result


def doubts(run: dict[str, Any]) -> list[str]:
    """Why the figures of one run should not be believed; empty when there is no reason."""
    found = []
    if run["found"] != run["sent"]["statements"] or run.get("missing") or run.get("unexpected"):
        found.append(f"{run['sent']['statements']} statements sent, {run['found']} found")
    if run["packets_dropped"]:
        found.append(f"{run['packets_dropped']} packets dropped")
    if not run["balanced"]:
        found.append("the ledger is not balanced")
    if run["querytap"]["processes_changed"]:
        found.append("processes came or went in the window")
    if run["querytap"]["exit_status"] != 0:
        found.append(f"querytap ended with {run['querytap']['exit_status']}")
    if "tcpdump" in run and run["tcpdump"]["packets"] != run["packets_passed"]:
        found.append(f"tcpdump's filter passed {run['tcpdump']['packets']} packets, ours {run['packets_passed']}")
    short = run["window_statements"] / (run["rate"] * run["window_s"])
    if short < 0.98:
        found.append(f"only {100 * short:.0f} % of the rate was reached")
    if run["others_cpu_percent"] > _QUIET_PERCENT:
        found.append(f"other programs took {run['others_cpu_percent']:.0f} % of a core")
    return found


def table(results: list[dict[str, Any]]) -> str:
    """The results for a reader: microseconds a statement, but for the column in percent of a core."""
    lines = [
        "responses    rate   querytap (least..most)  worker  aggreg.    rest   core %  tcpdump      all  wakes/s"
        "  dropped  found/sent  way"
    ]
    for one in results:
        whole, roles = one["querytap"], one["roles"]
        worker, aggregator = roles.get("worker", 0.0), roles.get("aggregator", 0.0)
        columns = [
            f"{one['responses']:9} {one['rate']:7}",
            f"{whole['median']:8.3f} ({whole['least']:5.2f}..{whole['most']:5.2f})",
            f"{worker:6.3f}  {aggregator:7.3f} {whole['median'] - worker - aggregator:7.3f}",
            f"{one['cpu_percent']:7.2f}",
            *(f"{one[name]['median']:7.3f}" if name in one else "      -" for name in _TREES[1:]),
            f"{one['wake_ups_per_s']:7.0f}  {one['packets_dropped']:7}",
            f"{one['found']}/{one['sent']}",
            one["way"],
        ]
        lines.append("  ".join(columns).rstrip())
    return "\n".join(lines)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(prog="make bench ARGS=...", description=main.__doc__)
    found.add_argument("--rates", type=int, nargs="+", default=list(RATES), help="statements a second")
    found.add_argument("--responses", nargs="+", choices=RESPONSES, default=["none", "first"])
    found.add_argument(
        "--seconds", type=float, default=20.0, help="length of a window; use multiples of batch.max_age_s"
    )
    found.add_argument("--repeats", type=int, default=3)
    found.add_argument("--connections", type=int, default=40)
    found.add_argument("--workers", type=int, default=2)
    found.add_argument("--ring-mib", type=int, default=64, help="of one worker; tcpdump gets as much as all of them")
    found.add_argument("--methods", nargs="+", choices=_METHODS, default=["ring"], help="values of capture.method")
    found.add_argument("--block-sizes", type=int, nargs="+", default=[1024], help="KiB: values of capture.block_kib")
    found.add_argument("--timeouts", type=int, nargs="+", default=[250], help="ms: values of capture.block_timeout_ms")
    found.add_argument("--texts", type=int, default=200_000, help="statements after which the texts begin anew")
    found.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of querytap")
    found.add_argument("--alone", action="store_true", help="without tcpdump beside it")
    found.add_argument("--no-compare", dest="compare", action="store_false", help="count the archive, compare no texts")
    found.add_argument("--patience", type=float, default=60.0, help="seconds to wait for a quiet machine before a run")
    found.add_argument("--folder", type=Path, help="where archives and capture files go while it runs")
    found.add_argument("--output", type=Path, help="file for the result (a new one in bench/results/)")
    return found


def main() -> int:
    """Measure what recording costs, at rates that a real server cannot reach on two cores."""
    arguments = parser().parse_args()
    try:
        machine.require_compiled()
        _require_tools(arguments.alone)
    except machine.Refused as refusal:
        sys.stderr.write(f"bench: {refusal}\n")
        return 3
    veth.become_root()
    runs = _all_runs(arguments)
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for run in runs:
        groups.setdefault(tuple(str(run[name]) for name in _COMPARED), []).append(run)
    results = [summary(group) for group in groups.values()]
    settings = {name: value for name, value in vars(arguments).items() if name not in {"folder", "output"}}
    path = machine.write(
        "pipeline",
        settings,
        [{**one, "runs": group} for one, group in zip(results, groups.values(), strict=True)],
        arguments.output,
    )
    sys.stdout.write(f"{table(results)}\n{path}\n")
    return 1 if any(run["found"] != run["sent"]["statements"] for run in runs) else 0


def _require_tools(alone: bool) -> None:
    wanted = _TOOLS if alone else (*_TOOLS, "tcpdump")
    missing = [tool for tool in wanted if shutil.which(tool) is None]
    if missing:
        raise machine.Refused(f"not installed: {', '.join(missing)} (packages iproute2, util-linux, tcpdump)")
    if os.geteuid() != 0 and not alone:
        raise machine.Refused("tcpdump changes its user, which only root can let it; ARGS=--alone measures without it")


def _all_runs(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Every setting, rate and repeat; repeats are the outermost, so that a slow minute hits all settings alike."""
    runs = []
    compared = product(
        range(arguments.repeats),
        arguments.responses,
        ways(arguments.methods, arguments.block_sizes, arguments.timeouts),
        arguments.rates,
    )
    for repeat, responses, way, rate in compared:
        more = (*way.settings, *arguments.set)
        setting = Setting(traffic.SERVER_PORT, responses, arguments.workers, arguments.ring_mib, more)
        plan = Plan(rate, arguments.connections, arguments.texts)
        run = Run(plan, setting, arguments.seconds, not arguments.alone, arguments.compare)
        _wait_for_quiet(arguments.patience)
        figures: dict[str, Any] = {"rate": rate, "responses": responses, "repeat": repeat, **asdict(way)}
        with tempfile.TemporaryDirectory(prefix="querytap-bench-", dir=arguments.folder) as folder:
            figures |= measure(run, Path(folder))
        figures["doubts"] = doubts(figures)
        runs.append(figures)
        _report(figures)
    return runs


def _wait_for_quiet(patience_s: float) -> None:
    """Return when other programs leave the machine alone, or after *patience_s*."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        began, busy = time.monotonic(), cpu.busy_s()
        time.sleep(2.0)
        if 100 * (cpu.busy_s() - busy) / (time.monotonic() - began) < _QUIET_PERCENT:
            return


def _report(run: dict[str, Any]) -> None:
    figure = run["querytap"]["cpu_us_per_statement"]
    doubt = f"  DOUBT: {'; '.join(run['doubts'])}" if run["doubts"] else ""
    way = f"{run['method']} {run['block_kib']} KiB {run['timeout_ms']} ms"
    sys.stderr.write(f"{run['responses']:6} {way} {run['rate']:6}/s  #{run['repeat'] + 1}  {figure:.3f} us{doubt}\n")
