"""Where packets are seen: each kind of interface once, whatever it is made of, and other network namespaces."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.supervisor.lifecycle import READY
from tests.integration.capture.starting import (
    archived,
    ledger,
    running,
    statements,
    status,
    texts,
    wait_for,
    wait_for_restart,
    wait_until,
)
from tests.support import processes
from tests.support.namespaces import Namespace
from tests.support.servers import CLIENT, MariaDB

pytestmark = [
    pytest.mark.integration,
    pytest.mark.either_build,
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces of one who is not root belong to different users"),
]

SERVER = "10.9.0.1"
COUNT = 300

# What bears the server's address, made of `wire`, whose other end is the client's; what the client's is made of.
KINDS = {
    "veth": ("wire", [], []),
    "bridge": ("br0", ["link add br0 type bridge", "link set wire master br0"], []),
    "vlan": (
        "wire.100",
        ["link add link wire name wire.100 type vlan id 100"],
        ["link add link wire name wire.100 type vlan id 100"],
    ),
    "bond": ("bond0", ["link add bond0 type bond mode active-backup", "link set wire master bond0"], []),
    "vlan of a bond": (
        "bond0.100",
        [
            "link add bond0 type bond mode active-backup",
            "link set wire master bond0",
            "link set bond0 up",
            "link add link bond0 name bond0.100 type vlan id 100",
        ],
        ["link add link wire name wire.100 type vlan id 100"],
    ),
    "bridge of a vlan": (
        "br0",
        [
            "link add link wire name wire.100 type vlan id 100",
            "link add br0 type bridge",
            "link set wire.100 master br0",
        ],
        ["link add link wire name wire.100 type vlan id 100"],
    ),
}


@pytest.fixture
def here() -> Iterator[Namespace]:
    with Namespace() as made:
        yield made


@pytest.fixture
def there() -> Iterator[Namespace]:
    with Namespace() as made:
        yield made


def ip(namespace: Namespace, *commands: str) -> None:
    for command in commands:
        namespace.run(["ip", *command.split()])


def make_wire(here: Namespace, there: Namespace) -> None:
    """A pair of interfaces called wire, one in each namespace."""
    ip(here, f"link add wire type veth peer name wire netns {there.pid}")


def connect(here: Namespace, there: Namespace, kind: str) -> None:
    """Give server and client an address, on interfaces of a kind."""
    bearer, ours, theirs = KINDS[kind]
    make_wire(here, there)
    try:
        ip(here, *ours)
        ip(there, *theirs)
    except AssertionError as error:
        if "Unknown device type" in str(error):
            pytest.skip(f"this kernel has no {kind}")
        raise
    for namespace, name, address in ((here, bearer, SERVER), (there, "wire.100" if theirs else "wire", CLIENT)):
        names = [one["ifname"] for one in json.loads(namespace.run(["ip", "-json", "link"]).stdout)]
        ip(namespace, *(f"link set {one} up" for one in names), f"address add {address}/24 dev {name}")


@pytest.mark.parametrize("kind", KINDS)
def test_each_packet_is_captured_once_on_whatever_the_servers_address_is(
    here: Namespace, there: Namespace, folder: Path, kind: str
) -> None:
    connect(here, there, kind)
    with MariaDB(here) as server, running(here, folder) as started:
        wait_for(started, f"port {server.port}, all interfaces")
        there.run(statements(server.port, "remote", COUNT, SERVER))
        here.run(statements(server.port, "loopback", COUNT))
        here.run(statements(server.port, "own address", COUNT, SERVER))
        assert processes.stop(started.process, 60) == 0, started.log.read_text()
    for prefix in ("remote", "loopback", "own address"):
        assert archived(folder, prefix) == texts(prefix, COUNT)
    packets = ledger(folder)["0"]["packets"]
    assert packets["taken"]["foreign"] == packets["taken"]["malformed"] == 0
    assert packets["taken"]["duplicate"] < COUNT // 2  # where packets came twice, all would; TCP may send a few again
    assert packets["taken"]["used"] >= 6 * COUNT
    interfaces = ledger(folder)["0"]["interfaces"]
    bearer = KINDS[kind][0]
    assert set(interfaces) == {"lo", bearer}  # and nothing on what it is made of
    assert min(interfaces[bearer].values()) >= COUNT
    assert interfaces["lo"]["out"] == 0
    counted = sum(count for counts in interfaces.values() for count in counts.values())
    assert counted == sum(packets["taken"].values())


def test_named_interfaces_may_go_come_flap_and_change_their_names(
    here: Namespace, there: Namespace, folder: Path
) -> None:
    connect(here, there, "veth")
    with MariaDB(here) as server, running(here, folder, 'capture.interfaces=["lo", "wire"]') as started:
        wait_for(started, f"port {server.port}, interfaces lo, wire")
        there.run(statements(server.port, "before", COUNT, SERVER))
        for _ in range(5):
            ip(here, "link set wire down", "link set wire up")
        there.run(statements(server.port, "flapped", COUNT, SERVER))
        ip(here, "link set wire down", "link set wire name other", "link set other up")
        wait_for(started, "interface wire is missing")
        wait_until(lambda: "interface wire is missing" in status(folder), started)
        there.run(statements(server.port, "unnamed", COUNT, SERVER))
        ip(here, "link delete other")
        make_wire(here, there)
        ip(here, "link set wire up", f"address add {SERVER}/24 dev wire")
        ip(there, "link set wire up", f"address add {CLIENT}/24 dev wire")
        wait_until(lambda: "interface wire is missing" not in status(folder), started)
        there.run(statements(server.port, "again", COUNT, SERVER))
        assert json.loads((folder / "run/processes.json").read_text())["restarts"]["capture"] == 0
        assert processes.stop(started.process, 60) == 0, started.log.read_text()
    for prefix in ("before", "flapped", "again"):
        assert archived(folder, prefix) == texts(prefix, COUNT)
    assert archived(folder, "unnamed") == []


@contextlib.contextmanager
def named_namespace(path: Path) -> Iterator[None]:
    """A network namespace as `ip netns` makes it."""
    subprocess.run(["ip", "netns", "add", path.name], check=True)
    try:
        subprocess.run(["ip", "-n", path.name, "link", "set", "lo", "up"], check=True)
        yield
    finally:
        subprocess.run(["ip", "netns", "delete", path.name], check=True)


def test_servers_in_other_network_namespaces_are_found_and_recorded(
    here: Namespace, there: Namespace, folder: Path
) -> None:
    places = f'capture.namespaces=["own", "{there.pid}"]'
    with MariaDB(here) as ours, MariaDB(there) as theirs, running(here, folder, places) as started:
        wait_for(started, f"ports {ours.port}, {theirs.port}, all interfaces, 2 workers")
        here.run(statements(ours.port, "ours", COUNT))
        there.run(statements(theirs.port, "theirs", COUNT))
        assert processes.stop(started.process, 60) == 0, started.log.read_text()
    for prefix in ("ours", "theirs"):
        assert archived(folder, prefix) == texts(prefix, COUNT)
    assert [worker["statements"]["shipped"] > COUNT for worker in ledger(folder).values()] == [True, True]


def test_a_network_namespace_that_is_made_again_is_captured_again(here: Namespace, folder: Path) -> None:
    path = Path("/run/netns", f"querytap-{os.getpid()}")
    with contextlib.ExitStack() as stack:
        with named_namespace(path):
            started = stack.enter_context(
                running(here, folder, "capture.ports=[3306]", f'capture.namespaces=["own", "{path}"]')
            )
            wait_for(started, READY)
        wait_for(started, f"network namespace {path} is gone")
        wait_until(lambda: f"network namespace {path} is gone" in status(folder), started)
        with named_namespace(path):
            wait_for(started, f"network namespace {path} is another one now: capture starts anew")
            wait_for_restart(folder, started)
            assert "is gone" not in status(folder)
            assert processes.stop(started.process, 60) == 0, started.log.read_text()


def test_without_the_right_to_enter_a_namespace_it_says_what_to_do(
    here: Namespace, there: Namespace, folder: Path
) -> None:
    before = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", "--")
    places = f'capture.namespaces=["{there.pid}"]'
    command = processes.querytap(
        "run", "--set", "capture.ports=[3306]", "--set", places, "--set", f'paths.state="{folder}/state"',
        "--set", f'paths.run="{folder}/run"',
    )  # fmt: skip
    processes.run(processes.querytap("keygen", "--set", f'paths.state="{folder}/state"'))
    done = subprocess.run(
        here.command([*before, *command]), env=processes.environment(), capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 3, done.stderr.decode()
    assert f"entering network namespace {there.pid} (capture.namespaces) needs the capability CAP_SYS_ADMIN" in (
        done.stderr.decode()
    )
