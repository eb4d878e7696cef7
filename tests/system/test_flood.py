"""A flood of several times what a worker can take: the rest is dropped and counted, and then all is as before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil
import pytest

from bench import traffic, veth
from bench.pipeline import load
from tests.integration.capture.starting import statements, texts
from tests.integration.capture.test_running import wait_until, workers
from tests.support import processes
from tests.support.collector import Collector
from tests.support.folders import reachable_folder
from tests.support.namespaces import Namespace
from tests.support.servers import MariaDB

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(os.geteuid() != 0, reason="the sender enters namespaces by itself, as root"),
]

PLAN: Final = load.Plan(rate=80_000, connections=40, texts=20_000)
OPEN_AND_CLOSE: Final = 7
"""Packets of a connection that pass besides statements: both SYNs, greeting and login, the goodbye and both FINs."""
LOGIN_AND_QUIT: Final = 2
"""What is decoded of a connection besides its statements."""
TIMES: Final = 3
"""How many times as much as the worker takes is sent, at least."""
FLOOD: Final = 150_000
WAKE_S: Final = 0.004
SLEEP_S: Final = 0.2
STATUS_S: Final = 2.5
"""Longer than capture's statistics and the status take to come."""
OURS, THEIRS = "10.88.0.1", "10.88.0.2"


def test_what_a_worker_cannot_take_of_a_flood_is_dropped_and_counted(report: Callable[[str], None]) -> None:
    with reachable_folder() as folder, Namespace() as db, Namespace(db) as app:
        pair = veth.Pair(db.pid, app.pid)
        veth.join(pair)
        db.run(["ip", "address", "add", f"{OURS}/24", "dev", veth.INTERFACE])
        app.run(["ip", "address", "add", f"{THEIRS}/24", "dev", veth.PEER])
        settings = [f'capture.interfaces=["{veth.INTERFACE}"]', "capture.ring_mib=2"]
        with (
            MariaDB(db, port=traffic.SERVER_PORT) as server,
            load.ready(pair, folder, PLAN) as flood,
            Collector(db, folder, server.port, responses="none", settings=settings) as collector,
        ):
            app.run(statements(server.port, "before", 50, OURS))
            wait_until(lambda: calm(collector) and shipped(collector) > 50, collector)
            before = collector.status()["ledger"]["0"]
            flood.go()
            wait_until(lambda: flood.statements() > 0, collector)
            with seldom_awake(*workers(collector)):
                wait_until(lambda: flood.statements() > FLOOD, collector)
                assert b"state      recording" in answer(folder)
            sender = psutil.Process(flood.pid)
            sender.suspend()
            wait_until(lambda: calm(collector), collector)  # so that there is room for the goodbyes
            os.kill(flood.pid, signal.SIGTERM)
            sender.resume()
            sent = flood.stop()
            wait_until(lambda: calm(collector), collector)
            after = collector.status()["ledger"]["0"]
            app.run(statements(server.port, "after", 200, OURS))
            assert collector.stop() == 0, collector.complaint()
            ended, found = collector.status(), collector.records()
    passed, dropped = (after["packets"][name] - before["packets"][name] for name in ("passed", "dropped"))
    taken = sum(after["packets"]["taken"].values()) - sum(before["packets"]["taken"].values())
    decoded = after["statements"]["decoded"] - before["statements"]["decoded"]
    report(f"flood of {sent['statements']} in {sent['seconds']:.1f} s: {decoded} decoded, {dropped} packets dropped")
    assert passed == sent["statements"] + PLAN.connections * OPEN_AND_CLOSE
    assert passed - taken == dropped
    assert sent["statements"] + PLAN.connections * LOGIN_AND_QUIT - decoded == dropped
    assert dropped > (TIMES - 1) * taken
    assert ended["balanced"]
    assert ended["ledger"]["0"]["incarnation"] == 0, "the worker was there all the time"
    assert ended["ledger"]["0"]["packets"]["dropped"] == after["packets"]["dropped"]
    own = {sql: [one for one in found if sql in one.get("sql", "")] for sql in ("'before ", "'after ")}
    assert [one["sql"] for one in own["'before "]] == texts("before", 50)
    assert [one["sql"] for one in own["'after "]] == texts("after", 200)
    queries = Counter(
        (int(one["client"].rpartition(":")[2]), one["sql"].encode()) for one in found
        if one["command"] == "query" and not one["client"].startswith(THEIRS)
    )  # fmt: skip
    assert queries.total() == decoded - PLAN.connections * LOGIN_AND_QUIT
    assert not queries - PLAN.expected(sent["statements"])


def calm(collector: Collector) -> bool:
    """Whether the worker has taken all there was, and all of that is accounted for."""
    sums = collector.status()["ledger"]["0"]
    on_the_way = (sums["packets"]["held"], sums["packets"]["in_ring"], sums["statements"]["held"]) != (0, 0, 0)
    if on_the_way:
        return False
    time.sleep(STATUS_S)
    return bool(collector.status()["ledger"]["0"] == sums)


def shipped(collector: Collector) -> int:
    number: int = collector.status()["ledger"]["0"]["statements"]["shipped"]
    return number


@contextmanager
def seldom_awake(worker: psutil.Process) -> Iterator[None]:
    """Let a worker run a fiftieth of the time: no sender outruns one that has a processor for itself."""
    program = f"import os, signal, time\nwhile True:\n for what, seconds in ((signal.SIGSTOP, {SLEEP_S}), "
    program += f"(signal.SIGCONT, {WAKE_S})):\n  os.kill({worker.pid}, what); time.sleep(seconds)"
    with subprocess.Popen([sys.executable, "-c", program]) as waking:
        try:
            yield
        finally:
            waking.kill()
            waking.wait()
            worker.resume()


def answer(folder: Path) -> bytes:
    """What `querytap status` prints."""
    command = processes.querytap("status", "--set", f'paths.run="{folder}/run"')
    return processes.run(command).stdout
