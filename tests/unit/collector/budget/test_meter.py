"""What processes have used, with real ones."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from collector.budget.meter import Meter, Used, spent

BURN = "import time\nwhile time.process_time() < {seconds}: pass\n"
THREADS = """
import threading, time
def burn():
    while time.thread_time() < 0.1: pass
threads = [threading.Thread(target=burn) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
input()
"""


def burn(seconds: float) -> list[str]:
    return [sys.executable, "-c", BURN.format(seconds=seconds)]


def test_what_a_child_used_that_has_ended_is_counted() -> None:
    meter = Meter(lambda: [os.getpid()])
    before = meter.read(0.0)
    subprocess.run(burn(0.3), check=True)  # begins and ends between two readings
    assert spent(before, meter.read(1.0)) >= 0.25  # it comes in ticks


def test_what_a_child_used_is_counted_once_when_it_ends() -> None:
    meter = Meter(lambda: [os.getpid()])
    with subprocess.Popen([*burn(0.2)[:2], BURN.format(seconds=0.2) + "input()"], stdin=subprocess.PIPE) as child:
        while meter.read(0.0).get(child.pid, Used(0, 0, 0)).own_s < 0.2:
            time.sleep(0.02)
        before = meter.read(0.0)
        child.communicate(b"\n")
    own = time.process_time()
    used = spent(before, meter.read(1.0))
    assert child.pid in before
    assert used <= 0.1 + own  # not the 0.2 s again


def test_all_threads_are_counted() -> None:
    with subprocess.Popen([sys.executable, "-c", THREADS], stdin=subprocess.PIPE) as child:
        meter = Meter(lambda: [child.pid])
        deadline = time.monotonic() + 30
        while (found := meter.read(0.0)[child.pid].own_s) < 0.3 and time.monotonic() < deadline:
            time.sleep(0.02)
        child.communicate(b"\n")
    assert found >= 0.3


def test_a_small_use_is_seen_before_a_tick_of_the_kernel_is_over() -> None:
    meter = Meter(lambda: [os.getpid()])
    before = meter.read(0.0)
    end = time.process_time() + 0.002
    while time.process_time() < end:
        pass
    assert spent(before, meter.read(1.0)) >= 0.002


@pytest.mark.parametrize(
    ("before", "after", "seconds"),
    [
        ({}, {1: Used(2.0, 1.0, 0)}, 3.0),
        ({1: Used(2.0, 1.0, 0)}, {1: Used(2.5, 1.0, 0)}, 0.5),
        # 2 has ended and 1 has waited for it: 0.25 s were used after the last reading.
        ({1: Used(2.0, 0.0, 0), 2: Used(4.0, 0.0, 1)}, {1: Used(2.0, 4.25, 0)}, 0.25),
        # 2 has ended and somebody else has waited for it.
        ({1: Used(2.0, 0.0, 0), 2: Used(4.0, 0.0, 9)}, {1: Used(2.5, 0.0, 0)}, 0.5),
        # In ticks less was reaped than the clock had told.
        ({1: Used(2.0, 0.0, 0), 2: Used(4.006, 0.0, 1)}, {1: Used(2.0, 4.0, 0)}, 0.0),
    ],
)
def test_what_was_spent(before: dict[int, Used], after: dict[int, Used], seconds: float) -> None:
    assert spent(before, after) == pytest.approx(seconds)


def test_processes_that_are_not_there_are_nobody() -> None:
    assert Meter(lambda: [2**22 + 1, 0x7FFFFFFF]).read(0.0) == {}
