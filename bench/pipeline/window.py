"""One measurement: a rate, a `responses` setting, everybody on the same packets for the same seconds."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench import veth
from bench.pipeline import cpu, peers
from bench.pipeline.load import Load, Plan, ready
from bench.pipeline.recorder import Recorder, Setting, recording

_WARM_UP_S: Final = 3.0
_DRAIN_S: Final = 2.5  # more than a block of the ring, a block of statements and the status may wait


@dataclass(frozen=True, slots=True)
class Run:
    """What is to be measured."""

    plan: Plan
    setting: Setting
    seconds: float
    beside_tcpdump: bool
    compare: bool
    """Compare the archive with what was sent, text by text."""


def measure(run: Run, folder: Path) -> dict[str, Any]:
    """Run it once; the figures come back. Everything it makes lies in *folder*."""
    with ExitStack() as stack:
        pair = stack.enter_context(veth.pair())
        load = stack.enter_context(ready(pair, folder, run.plan))
        recorder = stack.enter_context(recording(pair, folder, run.setting))
        dumps = _tcpdumps(stack, pair, folder, run) if run.beside_tcpdump else {}
        roots = {"querytap": recorder.pid, "sender": load.pid} | {name: one.process.pid for name, one in dumps.items()}
        figures = _steady(load, roots, run.seconds)
        sent = load.stop()
        time.sleep(_DRAIN_S)
        last = recorder.status()
        figures["querytap"]["exit_status"] = recorder.stop()
        stack_results = {name: (one, one.file) for name, one in dumps.items()}
        figures |= _archive(run, recorder, sent, last)
    for name, (one, file) in stack_results.items():
        figures[name] |= {"packets": one.captured, "dropped": one.dropped, "bytes": file.stat().st_size}
    return figures


def _tcpdumps(stack: ExitStack, pair: veth.Pair, folder: Path, run: Run) -> dict[str, peers.Tcpdump]:
    ring_mib = run.setting.ring_mib * run.setting.workers
    same = peers.expression(run.setting.responses)
    return {
        "tcpdump": stack.enter_context(peers.tcpdump(pair, folder, ring_mib, same)),
        "tcpdump_all": stack.enter_context(peers.tcpdump(pair, folder, ring_mib, "")),
    }


def _steady(load: Load, roots: dict[str, int], seconds: float) -> dict[str, Any]:
    """CPU of every tree over a window in which all of them are warm and the load is even."""
    load.go()
    time.sleep(_WARM_UP_S)
    started, statements, busy = time.monotonic(), load.statements(), cpu.busy_s()
    before = {name: cpu.snapshot(root) for name, root in roots.items()}
    time.sleep(max(0.0, started + seconds - time.monotonic()))
    after = {name: cpu.snapshot(root) for name, root in roots.items()}
    elapsed, sent = time.monotonic() - started, load.statements() - statements
    figures: dict[str, Any] = {"window_s": round(elapsed, 3), "window_statements": sent}
    known = 0.0
    for name in roots:
        spent = cpu.spent(before[name], after[name])
        known += spent.run_s
        figures[name] = {
            "cpu_us_per_statement": round(spent.run_s * 1e6 / sent, 3),
            "cpu_percent": round(100 * spent.run_s / elapsed, 2),
            "user_s": round(spent.user_s, 2),
            "system_s": round(spent.system_s, 2),
            "us_per_statement_by_role": {role: round(s * 1e6 / sent, 3) for role, s in sorted(spent.roles.items())},
            "wake_ups_per_s": round(spent.wake_ups / elapsed, 1),
            "memory_mib": round(spent.memory_mib, 1),
            "processes_changed": spent.changed,
        }
    # What ran beside us: other programs, and softirqs that no process was billed for.
    figures["others_cpu_percent"] = round(100 * max(0.0, cpu.busy_s() - busy - known) / elapsed, 1)
    return figures


def _archive(run: Run, recorder: Recorder, sent: dict[str, Any], last: dict[str, Any]) -> dict[str, Any]:
    found = recorder.found()
    result: dict[str, Any] = {"sent": sent, "found": found.total()}
    if run.compare:
        expected = run.plan.expected(sent["statements"])
        result["missing"] = (expected - found).total()
        result["unexpected"] = (found - expected).total()
    packets = [worker["packets"] for worker in last["ledger"].values()]
    result["packets_passed"] = sum(one["passed"] for one in packets)
    result["packets_dropped"] = sum(one["dropped"] for one in packets)
    result["packets_by_worker"] = [one["passed"] for one in packets]
    result["balanced"] = last["balanced"]
    result["batches"] = last["batches"]["stored"]
    result["archive_bytes_per_statement"] = round(recorder.archive_bytes() / max(1, found.total()), 1)
    if not found:
        result["log"] = recorder.log()
    return result
