"""Servers that come and move while querytap runs, which holds no rights by then and sees no process of theirs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.capture.starting import (
    SCENARIOS,
    Started,
    archived,
    ledger,
    ports,
    running,
    statements,
    status,
    texts,
    wait_for,
    wait_until,
)
from tests.support import processes
from tests.support.namespaces import Namespace
from tests.support.servers import MariaDB, free_port

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

HIDDEN = ("unshare", "--mount", "--", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh")
"""Runs a command where /proc shows it no process of other users (proc(5))."""


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    with Namespace() as made:
        yield made


def wait_for_ports(folder: Path, started: Started, *wanted: int) -> None:
    wait_until(lambda: ports(folder) == sorted(wanted), started)


@pytest.mark.skipif(
    os.geteuid() != 0, reason="a user namespace of one user has no other one as whom a server could run"
)
def test_servers_are_followed_without_rights_and_where_proc_hides_them(namespace: Namespace, folder: Path) -> None:
    with MariaDB(namespace) as first, running(namespace, folder, before=HIDDEN) as started:
        wait_for(started, f"port {first.port}, all interfaces")
        with MariaDB(namespace) as second:
            load = namespace.start(statements(first.port, "during", 3000))
            wait_for_ports(folder, started, first.port, second.port)
            namespace.run(statements(second.port, "second", 200))
            assert load.wait(60) == 0
        before, moved = first.port, free_port()
        first.stop()
        first.start_again(namespace, moved)
        wait_for_ports(folder, started, before, second.port, moved)
        namespace.run(statements(moved, "moved", 200))
        assert processes.stop(started.process, 60) == 0, started.log.read_text()
    for prefix, count in (("during", 3000), ("second", 200), ("moved", 200)):
        assert archived(folder, prefix) == texts(prefix, count)
    packets = ledger(folder)["0"]["packets"]
    assert packets["dropped"] == packets["taken"]["foreign"] == 0


def test_a_configured_port_that_nobody_listens_on_is_told_until_somebody_does(
    namespace: Namespace, folder: Path
) -> None:
    port = free_port()
    with running(namespace, folder, f"capture.ports=[{port}]") as started:
        wait_for(started, f"nobody listens on port {port} in this network namespace: correct capture.ports")
        wait_until(lambda: f"WARNING    nobody listens on port {port} in this" in status(folder), started)
        listening = namespace.start(processes.module(SCENARIOS, "listen", str(port)))
        try:
            wait_for(started, "every port is listened on")
            wait_until(lambda: "nobody listens" not in status(folder), started)
        finally:
            processes.stop(listening, 10)
        assert processes.stop(started.process, 60) == 0, started.log.read_text()
