"""CPU time is what the threads of a tree ran between two moments."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bench.pipeline import cpu
from bench.pipeline.cpu import Usage


def usage(role: str, run_ns: int, wake_ups: int = 0) -> Usage:
    halves = {"user_s": run_ns / 2e9, "system_s": run_ns / 2e9}
    return Usage(role, run_ns, **halves, anonymous_bytes=1 << 20, wake_ups=wake_ups)


def test_a_tree_has_spent_what_its_processes_ran_in_between() -> None:
    before = {1: usage("capture", 1_000_000_000), 2: usage("worker", 0), 3: usage("worker", 500_000_000)}
    after = {1: usage("capture", 1_250_000_000), 2: usage("worker", 500_000_000), 3: usage("worker", 1_000_000_000)}
    spent = cpu.spent(before, after)
    assert spent.run_s == pytest.approx(1.25)
    assert spent.roles == {"capture": pytest.approx(0.25), "worker": pytest.approx(1.0)}
    assert spent.user_s + spent.system_s == pytest.approx(1.25)
    assert spent.memory_mib == 3
    assert not spent.changed


def test_wake_ups_are_those_in_between() -> None:
    before = {1: usage("capture", 0, 100), 2: usage("worker", 0, 7)}
    after = {1: usage("capture", 0, 130), 2: usage("worker", 0, 8)}
    assert cpu.spent(before, after).wake_ups == 31


def test_a_process_that_ended_or_began_in_between_is_told() -> None:
    one, two = {1: usage("capture", 0)}, {1: usage("capture", 0), 2: usage("worker", 0)}
    assert cpu.spent(two, one).changed
    assert cpu.spent(one, two).changed


def test_a_snapshot_has_the_process_and_its_descendants_and_sees_them_run() -> None:
    waits = "import time; time.sleep(0.01); print(1, flush=True); input()"  # woken once before it is looked at
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {waits!r}])"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        found = cpu.snapshot(process.pid)
        process.stdin.close()
    assert len(found) == 2
    assert process.pid in found
    assert os.getpid() not in found
    assert all(one.run_ns > 0 and one.anonymous_bytes > 0 and one.wake_ups > 0 for one in found.values())
