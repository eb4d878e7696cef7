from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from collector.capture import groups, opening, servers
from collector.capture.groups import Group, Wanted
from collector.capture.interfaces import Interface, InterfaceError
from collector.capture.listeners import Listener
from collector.capture.namespaces import NamespaceError
from collector.capture.opening import open_sites, settings_of
from collector.capture.servers import ServerError, Servers
from collector.capture.site import Site
from collector.capture.telling import MOST_BYTES, SupervisorTeller, Teller, unpack
from collector.config import Config, StartError
from workers.settings import Selection

FOUND = Servers(frozenset({Listener(3306, 104, 1)}), frozenset({104}))


def test_settings_of_a_worker_are_those_of_the_configuration_in_its_units() -> None:
    config = Config()
    config = replace(
        config,
        capture=replace(config.capture, x_ports=(33060,), responses="none"),
        decode=replace(config.decode, max_statement_kib=2, max_flow_buffer_kib=3, max_buffer_mib=4, gap_timeout_ms=5),
        batch=replace(config.batch, block_age_ms=6),
    )
    settings = settings_of(config, (3306, 3307))
    assert (settings.ports, settings.x_ports, settings.responses) == ((3306, 3307), (33060,), "none")
    assert (settings.max_statement_bytes, settings.max_flow_buffer_bytes) == (2048, 3072)
    assert (settings.max_buffer_bytes, settings.gap_timeout_ns, settings.block_age_ns) == (
        4 << 20,
        5_000_000,
        6_000_000,
    )
    assert settings.idle_timeout_ns == config.decode.idle_timeout_s * 1_000_000_000


def test_a_worker_is_told_what_may_not_leave_it() -> None:
    config = Config()
    privacy = replace(config.privacy, literals="mask", omit_users=("a",), only_clients=("10.0.0.0/8",))
    settings = settings_of(replace(config, privacy=privacy), (3306,))
    assert settings.literals == "mask"
    assert (settings.omit, settings.only) == (Selection(users=("a",)), Selection(clients=("10.0.0.0/8",)))
    assert not settings_of(config, (3306,)).omit


@dataclass
class Links:
    """The interfaces: those that are asked for, unless they are refused."""

    host: Host

    def now(self) -> tuple[Interface, ...]:
        self.host.lookups += 1
        if self.host.refusals and isinstance(self.host.refusals[-1], InterfaceError):
            self.host.refusals.pop()
            return (Interface("lo", 1),)
        return (Interface("eth7", self.host.lookups), Interface("eth8", 100))

    def close(self) -> None:
        self.host.asked -= 1


@dataclass
class Host:
    """An interface that is made anew whenever it is looked up, and a server; both have been missing for a while."""

    refusals: list[StartError] = field(default_factory=list)
    lookups: int = 0
    opened: list[int] = field(default_factory=list)
    slept: int = 0
    asked: int = 0
    """Sockets that are open to ask who listens."""

    def listeners(self) -> Host:
        self.asked += 1
        return self

    def now(self) -> frozenset[Listener]:
        return frozenset()

    def close(self) -> None:
        self.asked -= 1

    def interfaces(self) -> Links:
        self.asked += 1
        return Links(self)

    def find(self, _listening: Collection[Listener], _namespace: int, others: Collection[int]) -> Servers:
        assert tuple(others) == (33060,)
        if self.refusals and isinstance(self.refusals[-1], ServerError):
            raise self.refusals.pop()
        return FOUND

    def open_group(self, wanted: Wanted) -> Group:
        self.opened.append(wanted.interface)
        return Group([cast("Any", SimpleNamespace(room=0))] * wanted.workers, ["in some way"])

    def sleep(self, _: float) -> None:
        self.slept += 1


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    found = Host()
    monkeypatch.setattr(opening, "Interfaces", found.interfaces)
    monkeypatch.setattr(groups, "open_group", found.open_group)
    monkeypatch.setattr(servers, "find", found.find)
    monkeypatch.setattr(opening, "Listeners", found.listeners)
    monkeypatch.setattr("collector.capture.opening.time.sleep", found.sleep)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(4):
        (tmp_path / f"capture/worker-{number}").mkdir(parents=True)
    return tmp_path


def config_of(folder: Path, *names: str, ports: tuple[int, ...] = (1,), namespaces: tuple[str, ...] = ()) -> Config:
    config = Config()
    return replace(
        config,
        capture=replace(config.capture, ports=ports, x_ports=(33060,), interfaces=names, namespaces=namespaces),
        workers=replace(config.workers, count=2),
        paths=replace(config.paths, run=str(folder)),
    )


def open_site(config: Config, teller: Teller, generation: int) -> Site:
    (site,) = open_sites(config, teller, generation)
    return site


def test_a_single_interface_is_looked_up_and_bound_to(host: Host, folder: Path) -> None:
    open_site(config_of(folder, "eth7"), Teller(), 0)
    assert host.opened == [1]


def test_several_interfaces_are_told_apart_by_the_filter_and_not_bound(host: Host, folder: Path) -> None:
    open_site(config_of(folder, "eth7", "eth8"), Teller(), 0)
    assert host.opened == [0]


def test_ports_that_are_configured_are_taken_and_else_those_of_the_servers(host: Host, folder: Path) -> None:
    assert open_site(config_of(folder, ports=(7,)), Teller(), 0).ports == (7, 33060)
    assert open_site(config_of(folder, ports=()), Teller(), 0).ports == (3306, 33060)
    assert host.opened == [0, 0]


def test_each_namespace_has_workers_of_its_own(host: Host, folder: Path) -> None:
    opened = open_sites(config_of(folder, namespaces=("own", str(os.getpid()))), Teller(), 0)
    assert [[slot.number for slot in site.slots] for site in opened] == [[0, 1], [2, 3]]
    assert host.opened == [0, 0]


@pytest.mark.parametrize(
    ("missing", "said"), [(InterfaceError(""), "no interface eth7 here"), (ServerError("no mysqld"), "no mysqld")]
)
def test_at_the_first_start_what_is_missing_is_an_error(
    host: Host, folder: Path, missing: StartError, said: str
) -> None:
    host.refusals = [missing]
    with pytest.raises(type(missing), match=said):
        open_site(config_of(folder, "eth7", ports=()), Teller(), 0)
    assert host.asked == 0


def received(receiving: socket.socket) -> Iterator[bytes]:
    with contextlib.suppress(BlockingIOError):
        while True:
            yield receiving.recv(MOST_BYTES)


@pytest.mark.parametrize(
    ("missing", "what"), [(InterfaceError(""), "interface eth7"), (ServerError("no mysqld"), "a server")]
)
def test_later_it_is_waited_for_and_that_is_told_once(host: Host, folder: Path, missing: StartError, what: str) -> None:
    host.refusals = [missing] * 3
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    teller = SupervisorTeller(ours.detach())
    with theirs:
        theirs.setblocking(False)
        assert open_site(config_of(folder, "eth7", ports=()), teller, 1).ports == (3306, 33060)
        told = [unpack(message) for message in received(theirs)]
        assert [one.waiting for one in told if one.waiting] == [what]
        assert (told[-1].waiting, told[-1].notes) == ("", ("in some way",))
    teller.close()
    assert (host.slept, len(host.opened)) == (3, 1)


@pytest.mark.usefixtures("host")
def test_a_namespace_that_is_not_there_is_waited_for_later(folder: Path) -> None:
    config = config_of(folder, namespaces=("/nosuch",))
    with pytest.raises(NamespaceError, match="there is no network namespace /nosuch"):
        open_sites(config, Teller(), 0)

    def sleep(_: float) -> None:
        raise TimeoutError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("collector.capture.opening.time.sleep", sleep)
        with pytest.raises(TimeoutError):
            open_sites(config, Teller(), 1)
