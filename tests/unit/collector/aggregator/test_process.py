"""The process as the supervisor starts it, with this test in the places of capture, monitor and a worker."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import pytest
import zmq

from collector.aggregator.intake import endpoint
from collector.archive.packing import pack
from collector.channel import Statistics
from collector.reading.archive import gaps, list_archive
from collector.reading.keys import generate
from collector.reading.ledgers import last_headers
from collector.reading.objects import read_header
from tests.unit.collector.aggregator.making import head_bytes
from workers.message import join

ROOT = Path(__file__).parents[4]
WAIT_S = 30


class Process:
    """`python -m collector.aggregator` for one worker, and the ends that others hold."""

    def __init__(self, folder: Path, store: Mapping[str, object] | None = None) -> None:
        self.folder = folder
        for name in ("capture/worker-0", "aggregator"):
            (folder / "run" / name).mkdir(parents=True, exist_ok=True)
        if not (folder / "state" / "keys").exists():
            generate(folder / "state" / "keys")
        self.statistics, statistics = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.monitor, monitor = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.worker = self._context.socket(zmq.DEALER)
        self.worker.bind(endpoint(folder / "run", 0))
        settings = os.memfd_create("settings")
        paths = {"state": str(folder / "state"), "run": str(folder / "run")}
        given = {"paths": paths, "store": {"min_free_percent": 0, **(store or {})}, "batch": {"max_age_s": 3}}
        os.write(settings, json.dumps(given).encode())
        ends = (settings, statistics.fileno(), monitor.fileno())
        names = ("--settings-fd", "--statistics-fd", "--monitor-fd")
        options = [word for name, end in zip(names, ends, strict=True) for word in (name, str(end))]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "collector.aggregator", *options, "--workers", "1"],
            pass_fds=ends,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            stderr=subprocess.PIPE,
        )
        os.close(settings)
        statistics.close()
        monitor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        self.statistics.close()
        self.monitor.close()
        self._context.destroy(linger=0)

    def block(self, sequence: int, *, final: bool = False, incarnation: int = 0) -> None:
        counts = [{"statements_decoded": 5 * at, "statements_packed": 5 * at, "packets_used": at} for at in range(9)]
        fields = {
            "before": counts[sequence],
            "after": counts[sequence + 1],
            "statements": 5,
            "final": final,
            "incarnation": incarnation,
        }
        self.worker.send(join(head_bytes(sequence=sequence, **fields), b"body"))

    def say(self, packets: int, *, final: bool = False, incarnation: int = 0) -> None:
        record = Statistics(
            worker=0,
            incarnation=incarnation,
            final=final,
            kernel_passed=packets,
            page_packets=packets,
            page_statements=5 * packets,
        )
        self.statistics.send(record.pack())

    def end(self) -> tuple[int, str]:
        _, log = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, log.decode()

    def ledger(self) -> dict[str, object]:
        (header,) = last_headers(list_archive(str(self.folder / "state" / "archive")), pytest.fail)
        return dict(header.ledger)

    def wait_for_state(self, state: str) -> None:
        self._wait(lambda status: status["state"] == state)

    def wait_for_object(self) -> None:
        self._wait(lambda status: status["batches"]["stored"] > 0)

    def wait_for_statements(self, count: int) -> None:
        self._wait(lambda status: status["ledger"]["0"]["statements"]["decoded"] >= count)

    def _wait(self, reached: Callable[[dict[str, Any]], bool]) -> None:
        path = self.folder / "run" / "aggregator" / "status.json"
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline and self.process.poll() is None:
            if path.exists() and reached(json.loads(path.read_text())):
                return
            select.select([], [], [], 0.02)
        raise AssertionError(self.end()[1])


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    with Process(tmp_path) as made:
        yield made


def test_it_ends_when_capture_and_workers_have_said_their_last(process: Process) -> None:
    process.say(0)
    process.block(0)
    process.worker.send(b"rubbish")
    process.worker.send(join(b"rubbish", b"and more"))
    process.monitor.send(pack({"tree": {"cpu_percent": 1.5}}))
    process.monitor.send(b"\xc1")
    process.monitor.send(pack({b"": 1}))
    process.statistics.send(b"no record")
    process.block(1, final=True)
    process.say(2, final=True)
    code, log = process.end()
    assert code == 0, log
    ledger = process.ledger()
    worker = ledger["workers"]["0"]  # type: ignore[index]  # the shape is what is tested
    assert ledger["final"] is True
    assert ledger["malformed"] == 2
    assert worker["statements"] == {"decoded": 10, "shipped": 10, "filtered": 0, "lost": 0, "evicted": 0, "held": 0}
    assert worker["packets"]["taken"] == {"used": 2}
    assert worker["faults"] == []
    status = json.loads((process.folder / "run" / "aggregator" / "status.json").read_text())
    assert (status["state"], status["balanced"]) == ("stopped", True)


def test_without_the_last_word_of_capture_it_keeps_what_it_has(process: Process) -> None:
    process.say(1)
    process.block(0, final=True)
    process.wait_for_state("running")
    process.statistics.close()
    code, log = process.end()
    assert code == 0, log
    assert "capture is gone" in log
    assert process.ledger()["final"] is True


def test_told_to_hurry_it_ends_with_what_it_has(process: Process) -> None:
    process.say(0)
    process.wait_for_state("running")
    process.process.send_signal(signal.SIGINT)  # the supervisor's business
    process.process.send_signal(signal.SIGTERM)
    code, log = process.end()
    assert code == 0, log
    assert process.ledger()["final"] is True


def test_a_restart_carries_the_chain_on(tmp_path: Path) -> None:
    with Process(tmp_path) as first:
        first.statistics.close()
        assert first.end()[0] == 0
    with Process(tmp_path) as second:
        second.statistics.close()
        assert second.end()[0] == 0
    entries = list_archive(str(tmp_path / "state" / "archive"))
    assert [entry.name.sequence for entry in entries if entry.name] == [1, 2]
    assert list(gaps(entries)) == []


def test_what_a_killed_aggregator_held_is_lost_and_the_run_goes_on(tmp_path: Path) -> None:
    with Process(tmp_path) as first:
        first.say(1)
        first.block(0)
        first.wait_for_object()
        first.block(1)  # stays in memory for as long as batch.max_age_s says
        first.wait_for_statements(10)
        first.process.kill()
        first.process.wait(WAIT_S)
    with Process(tmp_path) as second:
        second.block(2, final=True)
        second.say(3, final=True)
        code, log = second.end()
        assert code == 0, log
        ledger = second.ledger()
    worker = ledger["workers"]["0"]  # type: ignore[index]  # the shape is what is tested
    assert worker["statements"] == {"decoded": 15, "shipped": 10, "filtered": 0, "lost": 5, "evicted": 0, "held": 0}
    assert worker["faults"] == []
    assert ledger["objects_stored"] == 2
    runs = set()
    for entry in list_archive(str(tmp_path / "state" / "archive")):
        with entry.open() as stream:
            runs.add(read_header(stream).run)
    assert len(runs) == 1


def test_blocks_wait_until_capture_has_said_which_processes_are_the_present_ones(process: Process) -> None:
    process.block(0, final=True, incarnation=7)
    process.wait_for_state("starting")
    process.say(1, final=True, incarnation=7)
    code, log = process.end()
    assert code == 0, log
    ledger = process.ledger()
    assert ledger["malformed"] == 0
    assert ledger["workers"]["0"]["statements"]["shipped"] == 5  # type: ignore[index]  # the shape is what is tested


def test_without_a_recipient_it_says_what_to_do(tmp_path: Path) -> None:
    settings = os.memfd_create("settings")
    os.write(settings, json.dumps({"paths": {"state": str(tmp_path / "s"), "run": str(tmp_path / "r")}}).encode())
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    options = ["--settings-fd", str(settings), "--statistics-fd", str(theirs.fileno())]
    result = subprocess.run(
        [sys.executable, "-m", "collector.aggregator", *options],
        pass_fds=(settings, theirs.fileno()),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        check=False,
        timeout=WAIT_S,
    )
    for end in (ours, theirs):
        end.close()
    os.close(settings)
    assert result.returncode == 3
    assert b"querytap keygen" in result.stderr
    assert b"Traceback" not in result.stderr
