"""A load of several times what the cap allows, over real connections: what is given up, and what is told of it."""

from __future__ import annotations

import itertools
import os
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from bench.pipeline.load import Load
from collector.archive.layout import Header
from collector.budget.levels import FULL
from collector.reading.archive import list_archive
from collector.reading.objects import read_header
from collector.reading.shedding import spans
from tests.support import patience, processes
from tests.support.collector import Collector
from tests.support.folders import reachable_folder
from tests.support.namespaces import Namespace

pytestmark = [pytest.mark.integration, pytest.mark.skipif(os.geteuid() != 0, reason="namespaces want root here")]

PORT: Final = 3306
RATE: Final = 10_000
CAP: Final = 3.0
"""Well below what that rate costs, and well above what querytap costs whatever it leaves out."""
BUSY_S: Final = 30
TOLERATED: Final = 0.1
"""Of what the objects say that there was, against what was sent: twice the error that they tell."""


@contextmanager
def sending(namespace: Namespace, folder: Path) -> Iterator[Load]:
    progress = folder / "progress"
    progress.write_bytes(bytes(8))
    command = processes.module(
        "bench.budget.sockets", "--port", str(PORT), "--rate", str(RATE), "--progress", str(progress)
    )
    process = subprocess.Popen(
        namespace.command(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=processes.environment(),
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield Load(process, progress)
    finally:
        process.kill()
        process.communicate()


def wait(holds: Callable[[], bool], seconds: float, collector: Collector) -> None:
    deadline = time.monotonic() + patience.seconds(seconds)
    while not holds():
        assert time.monotonic() < deadline, f"{collector.status().get('budget')}\n{collector.complaint()}"
        time.sleep(0.2)


def headers(collector: Collector) -> list[Header]:
    found = []
    for entry in list_archive(collector.place):
        with entry.open() as stream:
            found.append(read_header(stream))
    return sorted(found, key=lambda header: header.sequence)


def test_load_is_shed_by_whole_connections_told_of_and_taken_on_again(report: Callable[[str], None]) -> None:
    with reachable_folder() as folder, Namespace() as namespace:
        settings = [f"budget.cpu_percent={CAP}", 'capture.interfaces=["lo"]']
        with sending(namespace, folder) as load, Collector(namespace, folder, PORT, settings=settings) as collector:

            def level() -> str:
                return str(collector.status()["budget"]["level"])

            time.sleep(6)  # in which nothing is given up
            load.go()
            wait(lambda: "/" in level(), 30, collector)
            time.sleep(BUSY_S)
            load.stop()
            sent = load.statements()
            wait(lambda: level() == FULL, 300, collector)
            assert collector.stop() == 0
        told = headers(collector)
        check_the_account(told, sent, report)
        check_that_connections_are_whole(collector.records(), changes_of(told))


def check_the_account(told: list[Header], sent: int, report: Callable[[str], None]) -> None:
    found = [header.ledger["budget"] for header in told]
    shares = [(header.counts["statements"], header.ledger["budget"]["coverage"]) for header in told]
    captured = sum(count for count, _ in shares)
    estimated = sum(coverage["statements"] for _, coverage in shares)
    report(f"{captured} of {sent} statements captured, the objects say that there were {estimated:.0f}")
    assert captured < 0.9 * sent
    assert abs(estimated / sent - 1) <= TOLERATED
    assert Counter(coverage["of"] for _, coverage in shares)["segments"] >= BUSY_S / 3
    assert found[0]["cap_percent"] == CAP
    all_spans = [span for header in told for span in spans(header.ledger)]
    assert all(first["to_ns"] <= then["from_ns"] for first, then in itertools.pairwise(all_spans))
    assert sum(span["to_ns"] - span["from_ns"] for span in all_spans) >= BUSY_S * 1e9
    for worker in told[-1].ledger["workers"].values():
        assert worker["packets"]["dropped"] == 0
        assert worker["faults"] == []


def changes_of(told: list[Header]) -> int:
    """How often a connection can have been left out and taken in again."""
    return len({(span["level"], span["why"]) for header in told for span in spans(header.ledger)}) + 1


def check_that_connections_are_whole(records: list[dict[str, Any]], changes: int) -> None:
    """Statements bear their number on their connection: none is missing but where the level was changed."""
    numbers: dict[str, list[int]] = {}
    for record in records:
        if record["command"] == "query":
            numbers.setdefault(record["client"], []).append(int(record["sql"].split()[-2]))
    assert numbers
    for found in numbers.values():
        found.sort()
        assert len(set(found)) == len(found)
        assert sum(then != first + 1 for first, then in itertools.pairwise(found)) <= changes
