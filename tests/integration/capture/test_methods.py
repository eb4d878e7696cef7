"""Three collectors beside one server, which capture by other methods and spread otherwise, tell the same."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from collector.capture.methods import METHODS
from tests.support import processes, recording
from tests.support.collector import Collector
from tests.support.folders import reachable_folder
from tests.support.namespaces import Namespace
from tests.support.recording import Load, Senders, Share
from tests.support.servers import MariaDB

pytestmark = pytest.mark.integration

LOAD = Load(text=Share(8, 1500, 500), prepared=Share(8, 1500, 500), odd=Share(4, 1000, 300), seed=5)
RING_MIB = {"ring": 64, "ring-v2": 256, "socket": 64}
"""Of one worker; the same number of packets takes more room where each has a frame as large as the largest."""
FANOUT = {
    "ring": ("auto", "fanout hash: tried with both directions of 128 connections, each met itself"),
    "ring-v2": ("hash", "fanout hash, as capture.fanout says"),
    "socket": ("cbpf", "fanout cbpf, as capture.fanout says"),
}
"""With two workers each."""
TIMES = ("time", "latency_ns", "duration_ns")
"""Each socket stamps packets for itself."""

Record = dict[str, Any]


@dataclass(frozen=True)
class Told:
    """What one collector told."""

    records: list[Record]
    ledger: dict[str, Any]
    status: str
    log: str


@pytest.fixture(scope="module")
def told() -> Iterator[dict[str, Told]]:
    with contextlib.ExitStack() as stack:
        namespace = stack.enter_context(Namespace())
        server = stack.enter_context(MariaDB(namespace))
        server.execute(*recording.TABLES)
        senders_folder = stack.enter_context(reachable_folder())
        collectors: dict[str, Collector] = {}
        for method in (method.METHOD for method in METHODS):
            folder = stack.enter_context(reachable_folder())
            settings = [
                f'capture.method="{method}"',
                f"capture.ring_mib={RING_MIB[method]}",
                f'capture.fanout="{FANOUT[method][0]}"',
            ]
            made = Collector(namespace, folder, server.port, workers=2, responses="all", settings=settings)
            collectors[method] = stack.enter_context(made)
        Senders(namespace, senders_folder, recording.commands(server.port, senders_folder, LOAD)).wait()
        shown = {method: status(each) for method, each in collectors.items()}
        for each in collectors.values():
            assert each.stop() == 0, each.complaint()
        yield {
            method: Told(each.records(), each.status()["ledger"], shown[method], each.complaint())
            for method, each in collectors.items()
        }


def status(collector: Collector) -> str:
    command = processes.querytap("status", "--set", f'paths.run="{collector.folder}/run"')
    return subprocess.run(command, env=processes.environment(), capture_output=True, check=False).stdout.decode()


def comparable(records: list[Record]) -> list[Record]:
    """The records of each connection in the order of the archive, without what a clock tells."""
    # Not by their stamps: two segments that cross each other on their way to the taps are stamped as they come.
    ordered = sorted(records, key=lambda record: str(record["client"]))
    return [{name: value for name, value in record.items() if name not in TIMES} for record in ordered]


def test_the_records_are_the_same(told: dict[str, Told]) -> None:
    expected = comparable(told["ring"].records)
    assert len(expected) >= 4000
    for method, each in told.items():
        found = comparable(each.records)
        differ = [_differing(*pair) for pair in zip(expected, found, strict=False) if pair[0] != pair[1]]
        assert (method, len(found), differ[:3]) == (method, len(expected), [])


def _differing(one: Record, other: Record) -> Record:
    return {name: (one.get(name), other.get(name)) for name in one | other if one.get(name) != other.get(name)}


def test_every_packet_is_accounted_for_and_none_was_lost(told: dict[str, Told]) -> None:
    passed = {method: sum(each["packets"]["passed"] for each in one.ledger.values()) for method, one in told.items()}
    assert len(set(passed.values())) == 1, passed
    for one in told.values():
        for worker in one.ledger.values():
            packets = worker["packets"]
            assert worker["faults"] == []
            assert packets["passed"] == sum(packets["taken"].values())
            assert (packets["dropped"], packets["lost"], packets["in_ring"]) == (0, 0, 0)


def test_each_worker_had_connections_whatever_spreads_them(told: dict[str, Told]) -> None:
    for one in told.values():
        assert all(worker["statements"]["shipped"] > 0 for worker in one.ledger.values())


def test_log_and_status_say_which_method_it_is_and_why(told: dict[str, Told]) -> None:
    for method, one in told.items():
        note = f"method {method}, {RING_MIB[method]} blocks of 1024 KiB a worker, as capture.method says"
        assert f"packets: {note}" in one.log
        assert f"capture    {note}" in one.status
        assert f"packets: {FANOUT[method][1]}" in one.log
        assert f"capture    {FANOUT[method][1]}" in one.status
