"""Workers and capture, killed again and again at load: what is lost is what they held, and it is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.integration.capture.test_running import child, wait_until, workers
from tests.support import gaps, numbered, recording, statements
from tests.support.collector import Collector
from tests.support.folders import reachable_folder
from tests.support.namespaces import Namespace
from tests.support.recording import Senders
from tests.support.servers import MariaDB
from tests.support.statements import Statement

pytestmark = pytest.mark.integration

KILLS = 20
CAPTURE_KILLS = 3
"""After five in a row the supervisor gives up."""
CONNECTIONS = 4
"""Of each of the senders."""
BETWEEN = 500
"""Packets that are recorded before the older worker is killed; the younger one is killed as soon as it is there."""


def test_of_twenty_kills_at_load_each_loses_no_more_than_the_ledger_counts(report: Callable[[str], None]) -> None:
    with ExitStack() as stack:
        folder = stack.enter_context(reachable_folder())
        namespace = stack.enter_context(Namespace())
        server = stack.enter_context(MariaDB(namespace))
        lists = [folder / name for name in "ab"]
        room = ["capture.ring_mib=128"]  # for what comes while a worker is away, up to two seconds after so many kills
        collector = stack.enter_context(Collector(namespace, folder, server.port, workers=2, settings=room))
        kill_at_load(collector, namespace, server, folder, lists)
        assert collector.stop() == 0, collector.complaint()
        server.stop()
        status, account, records = collector.status(), gaps.recorded(collector), collector.records()
        total = len(records)
        own: list[Statement] = [statement for one in lists for statement in statements.load(one)]
        log = recording.logged(server, own)
    assert not statements.differences("the log", Counter(log), "the senders' lists", Counter(own))
    ledger = status["ledger"]
    last = {int(number): worker["incarnation"] for number, worker in ledger.items()}
    assert sum(last.values()) == sum(worker["crashes"] for worker in ledger.values()) == KILLS
    missing = gaps.missing(account, gaps.logged(log), last)
    report(f"{KILLS} kills: {missing.statements} of {len(own)} statements missing; {gaps.summary(account)}")
    assert account.invented == []
    assert missing.problems == [], ledger
    assert gaps.forgotten(records) == []
    restored = [one for one in records if "restored" in one["flags"]]
    report(f"{len(restored)} of {total} records are of connections that the next worker knew from the one before")
    assert restored
    assert status["balanced"], ledger
    for worker in ledger.values():
        packets, sums = worker["packets"], worker["statements"]
        assert (packets["dropped"], packets["held"], packets["in_ring"], sums["held"]) == (0, 0, 0, 0)
        assert packets["passed"] == sum(packets["taken"].values()) + packets["lost"]
        assert sums["decoded"] == sums["shipped"] + sums["lost"]
    assert sum(worker["statements"]["shipped"] for worker in ledger.values()) == total
    absent = len(own) + len(lists) * CONNECTIONS - total  # with the logins, which the lists don't have
    lost = {what: sum(worker[what]["lost"] for worker in ledger.values()) for what in ("statements", "packets")}
    assert missing.statements <= absent
    assert 0 < lost["statements"] <= absent <= lost["statements"] + lost["packets"], lost


def kill_at_load(collector: Collector, namespace: Namespace, server: MariaDB, folder: Path, lists: list[Path]) -> None:
    """Send, and meanwhile kill one worker after the other."""
    commands = [numbered.command("127.0.0.1", server.port, one.name, CONNECTIONS, one) for one in lists]
    senders = Senders(namespace, folder, commands)
    try:
        for turn in range(KILLS):
            oldest = turn % 2 == 0
            before = taken(collector) + oldest * BETWEEN
            wait_until(lambda: len(workers(collector)) == 2 and taken(collector) > before, collector)  # noqa: B023
            victim = sorted(workers(collector), key=lambda worker: worker.create_time())[0 if oldest else -1]
            victim.kill()
            wait_until(lambda: victim not in workers(collector), collector)  # noqa: B023  # used at once
        wait_until(lambda: len(workers(collector)) == 2, collector)
    finally:
        senders.stop()


def test_after_kills_of_capture_what_is_missing_lies_between_two_capture_processes(
    report: Callable[[str], None],
) -> None:
    with ExitStack() as stack:
        folder = stack.enter_context(reachable_folder())
        namespace = stack.enter_context(Namespace())
        server = stack.enter_context(MariaDB(namespace))
        lists = [folder / name for name in "ab"]
        collector = stack.enter_context(Collector(namespace, folder, server.port, workers=2))
        commands = [numbered.command("127.0.0.1", server.port, one.name, CONNECTIONS, one) for one in lists]
        senders = Senders(namespace, folder, commands)
        try:
            for generation in range(1, CAPTURE_KILLS + 1):
                before = taken(collector)
                wait_until(lambda: taken(collector) > before + BETWEEN, collector)  # noqa: B023
                child(collector, "capture").kill()
                wait_until(lambda: generations(collector) == {generation}, collector)  # noqa: B023
        finally:
            senders.stop()
        assert collector.stop() == 0, collector.complaint()
        server.stop()
        status, account = collector.status(), gaps.recorded(collector)
        own = [statement for one in lists for statement in statements.load(one)]
        log = recording.logged(server, own)
    assert not statements.differences("the log", Counter(log), "the senders' lists", Counter(own))
    last = {int(number): worker["incarnation"] for number, worker in status["ledger"].items()}
    missing = gaps.missing(account, gaps.logged(log), last)
    report(f"{CAPTURE_KILLS} kills of capture: {missing.statements} of {len(own)} statements missing")
    assert status["balanced"], status["ledger"]
    assert account.invented == []
    assert missing.problems == []
    assert [worker["captures_lost"] for worker in status["ledger"].values()] == [CAPTURE_KILLS] * 2


def generations(collector: Collector) -> set[int]:
    """Which capture processes the ledger's last figures are of."""
    return {worker["incarnation"] >> 16 for worker in collector.status()["ledger"].values()}


def taken(collector: Collector) -> int:
    """Packets of which blocks have told, of all workers."""
    return sum(sum(one["packets"]["taken"].values()) for one in collector.status()["ledger"].values())
