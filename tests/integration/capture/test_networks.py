"""Whatever lies between clients and server, the archive is what the server's general log says."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

import pytest

from tests.support import generallog, networks, patience, processes, recording, records, statements
from tests.support.collector import Collector
from tests.support.folders import reachable_folder
from tests.support.namespaces import Namespace
from tests.support.networks import Ends, Network, UnavailableError
from tests.support.servers import MariaDB
from tests.support.statements import Statement

pytestmark = pytest.mark.integration

NETWORKS = {
    "loopback": Network(over="loopback", mtu=65535),
    "loopback-ipv6": Network(over="loopback", version=6, mtu=65535),
    "veth": Network(),
    "veth-gro-off": Network(packets="apart"),
    "veth-gro-on": Network(packets="joined"),
    "veth-ipv6-gro-off": Network(version=6, packets="apart"),
    "veth-ipv6-gro-on": Network(version=6, packets="joined"),
    "veth-mtu-9000": Network(mtu=9000, packets="apart"),
    "bridge": Network(over="bridge"),
    "bond": Network(over="bond"),
    "vlan": Network(over="vlan"),
    "fragments": Network(over="router", fragments="join"),
}
WAIT_S = patience.seconds(30)


@pytest.fixture(scope="module")
def server(namespace: Namespace) -> Iterator[MariaDB]:
    with MariaDB(namespace) as made:
        made.execute(*recording.TABLES)
        yield made


@pytest.mark.parametrize("name", NETWORKS)
def test_archive_and_log_and_sender_tell_the_same_over(namespace: Namespace, server: MariaDB, name: str) -> None:
    network = NETWORKS[name]
    with reachable_folder() as folder, contextlib.ExitStack() as stack:
        try:
            ends = stack.enter_context(network.between(namespace))
        except UnavailableError as reason:
            pytest.skip(str(reason))
        unread = len(server.general_log.read_bytes())
        sent_before, joined_before = sent_again(namespace, ends), joined(namespace)
        fragments = [f'capture.fragments="{network.fragments}"']
        with Collector(namespace, folder, server.port, workers=2, settings=fragments) as collector:
            ends.client.run(processes.module(
                "tests.support.workload", "--host", ends.server, "--port", str(server.port), "--connections", "4",
                "--statements", "300", "--rate", "2000", "--output", str(folder / recording.ODD_LIST),
            ))  # fmt: skip
            own = statements.load(folder / recording.ODD_LIST)
            log = logged(server, unread, own)
            assert collector.stop() == 0, collector.complaint()
        again = sent_again(namespace, ends) - sent_before
        found = recording.disagreements(records.statements(collector.records()), log, own)
        assert not found, "\n".join([*found, collector.complaint()])
        ledger = collector.status()["ledger"].values()
    assert any(len(statement.text) > 1 << 20 for statement in own)
    assert [worker["faults"] for worker in ledger] == [[], []]
    assert {worker["packets"][what] for worker in ledger for what in ("dropped", "lost", "held", "in_ring")} == {0}
    assert sum(worker["packets"]["taken"]["duplicate"] for worker in ledger) <= again, "packets were counted twice"
    passed = sum(worker["packets"]["passed"] for worker in ledger)
    cut_up = passed > sum(len(statement.text) for statement in own) / network.mtu
    assert cut_up == (network.packets == "apart" or network.over in {"loopback", "router"})
    assert (joined(namespace) > joined_before) == (network.over == "router")


def logged(server: MariaDB, unread: int, own: Sequence[Statement]) -> list[Statement]:
    """What the running server has written to its log, once that is as much as was sent."""
    known = [statement.text for statement in own if generallog.looks_like_entries(statement.text)]
    deadline = time.monotonic() + WAIT_S
    while True:
        found = generallog.network_statements(server.general_log.read_bytes()[unread:], known)
        if len(found) >= len(own) or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def sent_again(namespace: Namespace, ends: Ends) -> int:
    """Segments that either side has sent again."""
    hosts = {namespace, ends.client}
    return sum(networks.counted(host, "Tcp", "RetransSegs") for host in hosts)


def joined(namespace: Namespace) -> int:
    """Datagrams that the server's host has put together from fragments."""
    return networks.counted(namespace, "Ip", "ReasmOKs")
