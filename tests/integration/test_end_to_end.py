"""What reaches a real server is in the archive: nothing less, nothing more, nothing else.

Each run has three accounts of the same traffic: the archive, the server's general log, and what the senders noted when
they sent. They are compared as multisets of (connection, command, statement). The rate is reported and never asserted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import recording, records, statements
from tests.support.collector import Collector
from tests.support.folders import reachable_folder
from tests.support.namespaces import Namespace
from tests.support.recorder import TrafficFile
from tests.support.recording import Load, Senders, Share
from tests.support.servers import MariaDB
from tests.support.statements import Statement
from workers import records as blocks

pytestmark = pytest.mark.integration

FULL = Load(text=Share(16, 20_000, 2000), prepared=Share(16, 20_000, 2000), odd=Share(8, 10_000, 1000))
SMALL = Load(text=Share(16, 3000, 1500), prepared=Share(16, 3000, 1500), odd=Share(8, 3000, 1000), seed=77)

RUNS = {"all-of-50000-with-2-workers": (2, FULL), "1-worker": (1, SMALL), "4-workers": (4, SMALL)}


@dataclass(frozen=True)
class Run:
    """A recorded run, everything of it stopped."""

    load: Load
    workers: int
    collector: Collector
    exit_status: int
    status: Mapping[str, Any]
    archive: list[Statement]
    log: list[Statement]
    own: list[Statement]
    replayed: list[Statement]


def record(folder: Path, workers: int, load: Load, report: Callable[[str], None]) -> Run:
    """Run the load against a server of its own, beside a collector, and into a capture file."""
    capture = folder / "traffic.pcap"
    with Namespace() as namespace, MariaDB(namespace) as server:
        server.execute(*recording.TABLES)
        with Collector(namespace, folder, server.port, workers=workers) as collector:
            traffic = TrafficFile(namespace, capture, server.port)
            senders = Senders(namespace, folder, recording.commands(server.port, folder, load))
            try:
                senders.wait()
                exit_status = collector.stop()
            finally:
                traffic.stop()  # last: what has been captured takes a moment to reach the file
        server.stop()
        own = senders.sent()
        report(f"end to end with {workers} workers: {recording.summary(senders, own)}")
        print(collector.complaint())
        return Run(
            load=load,
            workers=workers,
            collector=collector,
            exit_status=exit_status,
            status=collector.status(),
            archive=records.statements(collector.records()),
            log=recording.logged(server, own),
            own=own,
            replayed=records.statements(collector.replay(capture, server.port)),
        )


@pytest.fixture(scope="module", params=RUNS)
def run(request: pytest.FixtureRequest, report: Callable[[str], None]) -> Iterator[Run]:
    """Each of the runs, made once for all tests."""
    workers, load = RUNS[request.param]
    with reachable_folder() as folder:
        yield record(folder, workers, load, report)


def test_archive_and_log_and_senders_tell_the_same_statements(run: Run) -> None:
    load = run.load
    assert len(run.own) >= load.text.statements + load.prepared.statements + load.odd.statements
    assert len({statement.connection_id for statement in run.own}) == load.connections
    found = recording.disagreements(run.archive, run.log, run.own)
    assert not found, "\n".join(found)


def test_the_load_has_the_texts_that_are_hard_to_carry(run: Run) -> None:
    texts = [statement.text for statement in run.archive if statement.command in {"Query", "Execute"}]
    assert any(b"\0" in text for text in texts)
    assert any(b"\n" in text for text in texts)
    assert any(b"\\'" in text and b'"' in text for text in texts)
    assert any("\U0001f600".encode() in text for text in texts)
    assert any(len(text) > 1 << 20 and text.startswith(b"INSERT") for text in texts)


def test_the_run_ends_in_order_with_nothing_lost(run: Run) -> None:
    assert run.exit_status == 0, run.collector.complaint()
    assert run.status["state"] == "stopped"
    assert run.status["balanced"]
    for worker in run.status["ledger"].values():
        assert worker["final"]
        assert not worker["faults"]
        assert worker["packets"]["dropped"] == 0
        assert worker["packets"]["lost"] == 0
        assert worker["packets"]["in_ring"] == 0


def test_the_sums_of_the_ledger_hold(run: Run) -> None:
    assert len(run.status["ledger"]) == run.workers
    for worker in run.status["ledger"].values():
        packets, decoded = worker["packets"], worker["statements"]
        taken = sum(packets["taken"].values())
        assert packets["passed"] == packets["dropped"] + taken + packets["lost"] + packets["held"] + packets["in_ring"]
        others = ("shipped", "filtered", "lost", "evicted", "held")
        assert decoded["decoded"] == sum(decoded[name] for name in others)
    shipped = sum(worker["statements"]["shipped"] for worker in run.status["ledger"].values())
    assert shipped == len(run.collector.records())


def test_flows_are_spread_over_the_workers_and_none_is_on_two(run: Run) -> None:
    clients: dict[int, set[str]] = {worker: set() for worker in range(run.workers)}
    counters: dict[int, Mapping[str, int]] = {}
    for head, body in run.collector.blocks():
        clients[head.worker].update(statement.session.client for statement in blocks.statements(body))
        counters[head.worker] = head.after
    together = Counter(client for own in clients.values() for client in own)
    assert len(together) == run.load.connections
    assert set(together.values()) == {1}, "a connection was on two workers"
    assert all(clients.values()), "a worker had no connection"
    assert sum(counted["connections_opened"] for counted in counters.values()) == run.load.connections
    for number, worker in run.status["ledger"].items():
        used = {name: value for name, value in counters[int(number)].items() if name.startswith("packets_")}
        assert sum(used.values()) == sum(worker["packets"]["taken"].values()) > 0


def test_a_capture_file_of_the_run_gives_the_same_statements(run: Run) -> None:
    different = statements.differences("replay", Counter(run.replayed), "archive", Counter(run.archive))
    assert not different, "\n".join(different)
