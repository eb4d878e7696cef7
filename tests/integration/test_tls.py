"""Of connections under TLS nothing is recorded but how many there were and how many bytes went through them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import certificates, processes, tls_account, tls_client
from tests.support.collector import Collector
from tests.support.folders import reachable_folder
from tests.support.namespaces import Namespace
from tests.support.recorder import TrafficFile
from tests.support.servers import MariaDB
from tests.support.tls_account import Account
from workers.settings import RESPONSES, Responses

pytestmark = pytest.mark.integration

EARLY, LATE = 3, 9


@dataclass(frozen=True)
class Run:
    """What a client under TLS was told, what the server logged, what was recorded, and what a capture file says."""

    ciphers: dict[int, str]
    log: str
    records: list[dict[str, Any]]
    live: dict[str, Any]
    """The status while it ran, once all was said."""
    status: dict[str, Any]
    ledger: str
    """As `querytap read --ledger` prints it."""
    seen: Account
    replayed: dict[str, int]


def record(folder: Path, responses: Responses) -> Run:
    """Let a client speak to a server of its own, beside a collector, and into a capture file."""
    capture, go = folder / "traffic.pcap", folder / "go"
    with Namespace() as namespace, certified(namespace, folder) as server:
        numbers = ["--early", str(EARLY), "--late", str(LATE)]
        command = processes.module("tests.support.tls_client", "--port", str(server.port), "--go", str(go), *numbers)
        client = namespace.start(command, folder / "client.log")
        wait_for(lambda: tls_client.READY in (folder / "client.log").read_text())
        with Collector(namespace, folder, server.port, responses=responses, workers=2) as collector:
            traffic = TrafficFile(namespace, capture, server.port)
            try:
                go.touch()
                assert client.wait(120) == 0, (folder / "client.log").read_text()
                wait_for(lambda: told(collector.status()).connections == EARLY + LATE)
                live = collector.status()
                assert collector.stop() == 0, collector.complaint()
            finally:
                traffic.stop()
                processes.stop(client, 10)
        server.stop()
        printed = processes.run(processes.querytap("read", str(collector.archive), "--ledger")).stdout
        return Run(
            ciphers={int(number): cipher for number, cipher in _lines(folder / "client.log")},
            log=server.general_log.read_text(errors="replace"),
            records=collector.records(),
            live=live,
            status=collector.status(),
            ledger=printed.decode(),
            seen=tls_account.read(capture, server.port),
            replayed=replayed(capture, server.port, responses),
        )


def certified(namespace: Namespace, folder: Path) -> MariaDB:
    certificate, key = certificates.write(folder)
    return MariaDB(namespace, (f"--ssl-cert={certificate}", f"--ssl-key={key}"))


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text().splitlines():
        if line != tls_client.READY:
            number, _, cipher = line.partition(" ")
            yield number, cipher


def wait_for(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.05)


def told(status: dict[str, Any]) -> Account:
    """What the ledgers of all workers say together."""
    found = [worker["encrypted"] for worker in status.get("ledger", {}).values()]
    return Account(*(sum(one[name] for one in found) for name in Account._fields))


def replayed(capture: Path, port: int, responses: Responses) -> dict[str, int]:
    command = processes.querytap("replay", str(capture), "--port", str(port), "--counters", "--responses", responses)
    text = processes.run(command).stderr.decode()
    return {name: int(value) for name, value in re.findall(r"^(\w+) (\d+)$", text, re.MULTILINE)}


@pytest.fixture(scope="module", params=RESPONSES)
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """A run with each setting of responses: what the filter leaves out does not count less."""
    with reachable_folder() as folder:
        yield record(folder, request.param)


def test_the_client_and_the_server_say_that_it_was_tls(run: Run) -> None:
    assert len(run.ciphers) == EARLY + LATE
    assert all(run.ciphers.values())
    assert len(re.findall(r"Connect\t.* using SSL/TLS", run.log)) == EARLY + LATE


def test_the_ledger_has_each_connection_and_each_byte(run: Run) -> None:
    assert run.seen.connections == EARLY + LATE
    assert min(run.seen) > 0
    assert told(run.status) == run.seen
    assert run.status["balanced"]


def test_the_ledger_of_the_archive_says_the_same(run: Run) -> None:
    line = r"not seen for TLS: (\d+) connections, (\d+) bytes of clients, (\d+) bytes of servers"
    found = re.findall(line, run.ledger)
    assert Account(*(sum(map(int, column)) for column in zip(*found, strict=True))) == run.seen


def test_a_replay_of_the_capture_file_counts_the_same(run: Run) -> None:
    names = ("connections_encrypted", "encrypted_bytes", "encrypted_answer_bytes")
    assert Account(*(run.replayed[name] for name in names)) == run.seen


def test_the_status_of_a_running_instance_tells_of_it_without_a_statement(run: Run) -> None:
    assert told(run.live).connections == EARLY + LATE
    assert all(worker["statements"]["decoded"] == 0 for worker in run.live["ledger"].values())


def test_nothing_that_was_said_is_recorded(run: Run) -> None:
    assert run.records == []
