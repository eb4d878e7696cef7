"""Workers that are killed at load: what follows has its user, database and prepared text, and is flagged `restored`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.integration.capture.test_running import wait_until, workers
from tests.support import gaps, numbered, recording, statements
from tests.support.collector import Collector
from tests.support.namespaces import Namespace
from tests.support.recording import Senders
from tests.support.servers import DATABASE, USER, MariaDB

pytestmark = pytest.mark.integration

NAMES = "abcdef"
CONNECTIONS = 2
"""Of each sender; the last one executes what it prepared once, at the beginning."""
SETTLED = 300
"""Packets that each worker records once all connections are in use, so that the logins have been recorded."""
NEVER = 1 << 30
ROUNDS = 30
"""A second, of each sender: what workers that are not compiled keep up with, too."""


@contextmanager
def sending(namespace: Namespace, server: MariaDB, folder: Path) -> Iterator[None]:
    """Keep connections busy that were opened, and on which was prepared, before this returns."""
    commands = [
        numbered.command("127.0.0.1", server.port, name, CONNECTIONS, folder / name, prepared_each=NEVER, rounds=ROUNDS)
        for name in NAMES
    ]
    senders = Senders(namespace, folder, commands)
    try:
        last = [numbered.executed(f"{name}{CONNECTIONS - 1}", 20) for name in NAMES]
        deadline = time.monotonic() + 60
        while not all(text in server.general_log.read_bytes() for text in last):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield
    finally:
        senders.stop()


def taken(collector: Collector) -> list[int]:
    """Packets of which blocks have told, of each worker."""
    return [sum(one["packets"]["taken"].values()) for one in collector.status()["ledger"].values()]


def wait_for_more(collector: Collector) -> None:
    """Wait until each worker has recorded some more."""
    before = taken(collector)
    wait_until(lambda: all(now > then + SETTLED for now, then in zip(taken(collector), before, strict=True)), collector)


def killed(collector: Collector) -> tuple[psutil.Process, float]:
    """Kill the older worker; the one that follows, and after how many seconds it is at work, behind its seal."""
    victim = min(workers(collector), key=lambda worker: worker.create_time())
    others = {worker.pid for worker in workers(collector)}
    began = time.monotonic()
    victim.kill()
    while True:
        after = [worker for worker in workers(collector) if worker.pid not in others and _sealed(worker)]
        if after:
            return after[0], time.monotonic() - began
        assert time.monotonic() - began < 60, collector.complaint()
        time.sleep(0.002)


def _sealed(process: psutil.Process) -> bool:
    try:
        return "Seccomp:\t2" in Path(f"/proc/{process.pid}/status").read_text()
    except FileNotFoundError:
        return False


def restored(record: dict[str, Any]) -> bool:
    return "restored" in record.get("flags", ())


def test_what_follows_a_kill_has_user_database_and_prepared_text(
    namespace: Namespace, folder: Path, report: Callable[[str], None]
) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(MariaDB(namespace))
        collector = stack.enter_context(Collector(namespace, folder, server.port, workers=2))
        with sending(namespace, server, folder):
            wait_for_more(collector)
            first = {worker.pid for worker in workers(collector)}
            _, seconds = killed(collector)
            report(f"the next worker was sealed and at work {seconds:.3f} s after the kill")
            wait_for_more(collector)
            _, seconds = killed(collector)  # the other one, which is older now
            report(f"and the other's {seconds:.3f} s after")
            assert not first & {worker.pid for worker in workers(collector)}
            wait_for_more(collector)
        assert collector.stop() == 0, collector.complaint()
        server.stop()
        status, account, records = collector.status(), gaps.recorded(collector), collector.records()
        own = [statement for name in NAMES for statement in statements.load(folder / name)]
        log = recording.logged(server, own)
    last = {int(number): worker["incarnation"] for number, worker in status["ledger"].items()}
    assert last == {0: 1, 1: 1}
    missing = gaps.missing(account, gaps.logged(log), last)
    report(f"{missing.statements} of {len(log)} statements missing; {gaps.summary(account)}")
    assert account.invented == []
    assert missing.problems == []
    assert [one for line in account.found.values() for one in line if one.number < 0] == [], "each has text and value"
    assert status["balanced"], status["ledger"]
    sent = [one for one in records if one["command"] in {"query", "stmt_execute"}]
    assert {(one.get("user"), one.get("database")) for one in sent} == {(USER, DATABASE)}
    again = [one for one in records if restored(one)]
    assert len({one["client"] for one in again}) == len(NAMES) * CONNECTIONS
    assert all("joined_late" in one["flags"] for one in again)
    executed = Counter(one["command"] for one in again)
    assert executed["stmt_execute"] > 0
    assert executed["query"] > 0
    for client in {one["client"] for one in again}:
        line = sorted((one for one in records if one["client"] == client), key=lambda one: str(one["time"]))
        flags = [restored(one) for one in line]
        assert flags == sorted(flags), "once it is restored it stays so"
        assert line[0]["command"] == "connect"
        assert not flags[0]
