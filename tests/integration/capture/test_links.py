"""Links that fail at load: the statements still reach the server, and the archive."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from tests.integration.capture.test_running import wait_until
from tests.support import gaps, networks, numbered, recording, statements
from tests.support.collector import Collector
from tests.support.folders import reachable_folder
from tests.support.gaps import Account, Missing
from tests.support.namespaces import Namespace
from tests.support.networks import Network
from tests.support.recording import Senders
from tests.support.servers import MariaDB

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

CONNECTIONS = 4
LOGGED_BYTES = 100_000
"""Of the server's log, to be sure that statements come through."""


class Run(NamedTuple):
    """What was recorded while the link went down and up, and was deleted and made again."""

    account: Account
    missing: Missing
    captures: int
    """How often capture was started again."""
    dropped: int


def record(interfaces: Sequence[str]) -> Run:
    """Send over a veth pair that is hurt meanwhile."""
    network = Network()
    with reachable_folder() as folder, Namespace() as here, Namespace(here) as there, MariaDB(here) as server:
        ends = network.connect(here, there)
        output = folder / "load"
        settings = [f"capture.interfaces={json.dumps(interfaces)}"]
        with Collector(here, folder, server.port, workers=2, settings=settings) as collector:
            command = numbered.command(ends.server, server.port, output.name, CONNECTIONS, output)
            senders = Senders(there, folder, [command])
            try:
                let_some_through(server, collector)
                for _ in range(3):
                    here.run(["ip", "link", "set", networks.OURS, "down"])
                    here.run(["ip", "link", "set", networks.OURS, "up"])
                    let_some_through(server, collector)
                here.run(["ip", "link", "delete", networks.OURS])
                network.connect(here, there)
                let_some_through(server, collector)
                if interfaces:
                    wait_until(lambda: captures(collector) > 0 and at_work(collector), collector)
                    let_some_through(server, collector)
            finally:
                senders.stop()
            restarts = captures(collector)
            assert collector.stop() == 0, collector.complaint()
        server.stop()
        log = gaps.logged(recording.logged(server, statements.load(output)))
        status = collector.status()
        assert status["balanced"], status["ledger"]
        last = {int(number): worker["incarnation"] for number, worker in status["ledger"].items()}
        account = gaps.recorded(collector)
        dropped = sum(worker["packets"]["dropped"] for worker in status["ledger"].values())
        return Run(account, gaps.missing(account, log, last), restarts, dropped)


def let_some_through(server: MariaDB, collector: Collector) -> None:
    enough = server.general_log.stat().st_size + LOGGED_BYTES
    wait_until(lambda: server.general_log.stat().st_size > enough, collector)


def captures(collector: Collector) -> int:
    restarts: int = json.loads((collector.folder / "run" / "processes.json").read_text())["restarts"]["capture"]
    return restarts


def at_work(collector: Collector) -> bool:
    """Whether the second capture process's workers have told of packets."""
    ledger = collector.status()["ledger"].values()
    return any(worker["incarnation"] >= 1 << 16 and worker["packets"]["passed"] for worker in ledger)


def test_a_link_that_fails_at_load_costs_no_statement_where_all_are_captured() -> None:
    run = record(())
    assert (run.captures, run.dropped, run.account.cut) == (0, 0, 0)
    assert (run.account.invented, run.missing.problems) == ([], [])
    assert run.missing.statements == 0
    assert all(one.number >= 0 for line in run.account.found.values() for one in line)


def test_where_the_one_captured_is_made_again_nothing_is_missing_but_while_capture_starts_anew() -> None:
    run = record((networks.OURS,))
    assert run.captures == 1
    assert run.account.invented == []
    assert (run.dropped, run.missing.problems) == (0, [])
    restarted = {name for name, line in run.account.found.items() if any(one.generation for one in line)}
    assert restarted == set(run.account.found), "what came afterwards is in the archive, of all connections"
