from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from collector.capture import filter as packet_filter
from collector.capture.bpf import Instruction
from collector.capture.filter import Selection
from collector.capture.following import Ports
from collector.capture.interfaces import Interface
from collector.capture.listeners import Listener
from collector.capture.namespaces import OWN, Namespace
from collector.capture.servers import ServerError, Servers
from collector.capture.site import Site
from collector.channel import Order
from collector.config import Config
from workers import page

MYSQL = 104
FIRST, SECOND = Listener(3306, MYSQL, 1), Listener(3307, MYSQL, 2)


@dataclass
class Slot:
    """A worker that learns of ports when it is told to; what is set is in the order in which it is set."""

    done: list[object] = field(default_factory=list)
    knows_ports: bool = True

    @property
    def socket(self) -> Slot:
        return self

    def serve(self, ports: page.Ports) -> None:
        self.done.append(ports)

    def leave_out_answers(self, whether: bool) -> None:
        self.done.append(whether)

    def set_filter(self, program: tuple[Instruction, ...]) -> None:
        self.done.append(program)


@dataclass
class Host:
    listening: set[Listener]

    def now(self) -> frozenset[Listener]:
        return frozenset(self.listening)


@dataclass
class Links:
    """The interfaces of a host; a question whether they changed is answered once."""

    present: list[Interface] = field(default_factory=list)
    new: bool = False

    fd = -1

    def set(self, *present: Interface) -> None:
        self.present, self.new = list(present), True

    def changed(self) -> bool:
        found, self.new = self.new, False
        return found

    def now(self) -> tuple[Interface, ...]:
        return tuple(self.present)


@pytest.fixture
def links() -> Links:
    return Links()


@pytest.fixture
def slot() -> Slot:
    return Slot()


@pytest.fixture
def host() -> Host:
    return Host({FIRST})


def site_of(
    host: Host,
    slot: Slot,
    configured: tuple[int, ...] = (),
    *,
    links: Links | None = None,
    names: tuple[str, ...] = (),
    bound: Interface | None = None,
) -> Site:
    servers = None if configured else Servers(frozenset({FIRST}), frozenset({MYSQL}))
    return Site(
        options=replace(Config().capture, ports=configured, interfaces=names),
        namespace=Namespace(OWN),
        known=cast("Any", links or Links()),
        bound=bound,
        slots=cast("Any", [slot]),
        ports=Ports(configured, (), servers),
        listeners=cast("Any", host),
    )


def program(*ports: int, local: bool = True) -> tuple[Instruction, ...]:
    return packet_filter.build(Selection(ports=ports, local=local))


def test_workers_learn_of_a_port_before_its_packets_pass(host: Host, slot: Slot) -> None:
    site = site_of(host, slot)
    site.look(10.0)
    site.adapt(10.0)
    assert slot.done == [program(3306)]
    host.listening = {FIRST, SECOND}
    slot.knows_ports = False
    site.look(20.0)
    site.adapt(20.5)
    assert site.pending
    assert slot.done[1:] == [page.Ports((3306, 3307), ())]
    slot.knows_ports = True
    site.adapt(20.6)
    assert not site.pending
    assert slot.done[2:] == [program(3306, 3307)]
    assert site.ports == (3306, 3307)


def test_an_order_narrows_what_passes_and_the_last_one_holds(host: Host, slot: Slot) -> None:
    site = site_of(host, slot)
    site.look(1.0)
    site.adapt(1.0)

    def passes(order: Order) -> object:
        site.obey(order, 2.0)
        site.adapt(2.0)
        return slot.done[-1]

    def filter_of(responses: str, keep: float) -> object:
        return packet_filter.build(Selection(ports=(3306,), local=True, responses=responses, keep=keep))

    assert passes(Order(responses="none", halvings=2)) == filter_of("none", 0.25)
    assert slot.done[-2] is True, "workers know before the filter is another one"
    assert passes(Order(responses="none", captures=False)) == packet_filter.drop_all()
    assert passes(Order(responses="all")) == filter_of("first", 1.0), "no more than is configured"
    assert slot.done[-2] is False
    count = len(slot.done)
    passes(Order(responses="all"))
    assert len(slot.done) == count


def test_a_worker_that_does_not_answer_is_not_waited_for_long(host: Host, slot: Slot) -> None:
    site = site_of(host, slot)
    site.look(10.0)
    site.adapt(10.0)
    slot.knows_ports = False
    host.listening.add(SECOND)
    site.look(20.0)
    site.adapt(21.0)
    assert slot.done[-1] == program(3306, 3307)


def test_a_filter_that_stays_is_not_set_again(host: Host, slot: Slot) -> None:
    site = site_of(host, slot)
    for now in (1.0, 2.0, 3.0):
        site.look(now)
        site.adapt(now)
    assert slot.done == [program(3306)]


def test_a_configured_port_that_nobody_listens_on_is_warned_of_for_as_long_as_that_is_so(
    host: Host, slot: Slot, caplog: pytest.LogCaptureFixture
) -> None:
    site = site_of(host, slot, configured=(3306, 3307))
    site.look(1.0)
    site.adapt(1.0)
    (warning,) = site.warnings
    assert "nobody listens on port 3307 in this network namespace" in warning
    assert "capture.ports" in warning
    assert caplog.text.count("nobody listens on port 3307") == 1
    assert slot.done == [program(3306, 3307, local=False)]
    site.look(2.0)
    assert caplog.text.count("nobody listens on port 3307") == 1
    host.listening.add(SECOND)
    site.look(3.0)
    site.adapt(3.0)
    assert site.warnings == ()
    assert slot.done[1:] == [program(3306, 3307)]


def test_that_the_servers_which_were_found_are_gone_is_warned_of(host: Host, slot: Slot) -> None:
    site = site_of(host, slot)
    host.listening = set()
    site.look(1.0)
    (warning,) = site.warnings
    assert "no server listens on port 3306 in this network namespace any more" in warning


def test_shut_lets_nothing_pass(host: Host, slot: Slot) -> None:
    site_of(host, slot).shut()
    assert slot.done == [packet_filter.drop_all()]


def test_other_ports_pass_once_workers_know_them_and_those_from_before_are_read_a_while_longer(
    host: Host, slot: Slot
) -> None:
    site = site_of(host, slot, configured=(3306,))
    turn(site, 1.0)
    host.listening.add(SECOND)
    slot.knows_ports = False
    site.choose(replace(Config().capture, ports=(3307,), x_ports=(33060,)))
    turn(site, 2.0)
    assert slot.done[1:] == [page.Ports((3307, 3306), (33060,))]
    slot.knows_ports = True
    turn(site, 2.1)
    turn(site, 31.9)
    assert slot.done[2:] == [program(3307, 33060, local=False)]
    turn(site, 32.1)
    assert slot.done[3:] == [page.Ports((3307,), (33060,))]
    assert site.ports == (3307, 33060)


def test_a_port_that_comes_back_at_once_is_not_forgotten_later(host: Host, slot: Slot) -> None:
    site = site_of(host, slot, configured=(3306,))
    turn(site, 1.0)
    for at, ports in ((2.0, (3307,)), (3.0, (3306,))):
        site.choose(replace(Config().capture, ports=ports))
        turn(site, at)
    turn(site, 40.0)
    assert slot.done[-1] == page.Ports((3306,), ())


def test_of_more_ports_than_a_worker_can_be_told_those_from_before_are_left_out(host: Host, slot: Slot) -> None:
    before, after = (tuple(range(first, first + page.MOST_PORTS)) for first in (1000, 2000))
    site = site_of(host, slot, configured=before)
    turn(site, 1.0)
    site.choose(replace(Config().capture, ports=after))
    turn(site, 2.0)
    assert page.Ports(after, ()) in slot.done


def test_another_share_of_the_connections_is_a_matter_of_the_filter_alone(host: Host, slot: Slot) -> None:
    site = site_of(host, slot, configured=(3306,))
    turn(site, 1.0)
    site.choose(replace(Config().capture, ports=(3306,), keep_percent=50))
    turn(site, 2.0)
    assert slot.done[1:] == [packet_filter.build(Selection(ports=(3306,), local=True, keep=0.5))]


def test_where_servers_are_to_be_found_and_none_is_the_ports_stay_until_one_is(
    host: Host, slot: Slot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> Servers:
        raise ServerError("no server", "start one")

    site = site_of(host, slot, configured=(3306,))
    turn(site, 1.0)
    monkeypatch.setattr("collector.capture.servers.find", missing)
    site.choose(Config().capture)
    turn(site, 2.0)
    assert site.ports == (3306,)
    (warning,) = site.warnings
    assert "capture.ports and capture.x_ports are not changed, as no server is found: no server" in warning
    monkeypatch.setattr("collector.capture.servers.find", lambda *_: Servers(frozenset({SECOND}), frozenset({MYSQL})))
    host.listening = {SECOND}
    site.choose(Config().capture)
    turn(site, 3.0)
    assert (site.ports, site.warnings) == ((3307,), ())


def filter_of(interfaces: tuple[int, ...] = (), left_out: tuple[int, ...] = ()) -> tuple[Instruction, ...]:
    return packet_filter.build(Selection(ports=(3306,), local=True, interfaces=interfaces, left_out=left_out))


def turn(site: Site, now: float) -> None:
    site.look(now)
    site.adapt(now)


def test_the_filter_follows_a_name_to_whichever_interface_bears_it(
    host: Host, slot: Slot, links: Links, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    links.set(Interface("eth0", 2), Interface("eth1", 3), Interface("eth2", 4))
    site = site_of(host, slot, links=links, names=("eth0", "eth1"))
    turn(site, 1.0)
    links.set(Interface("eth0", 2), Interface("eth2", 4))
    turn(site, 2.0)
    assert "interface eth1 is missing" in "".join(site.warnings)
    links.set(Interface("eth0", 2), Interface("eth1", 4))  # renamed
    turn(site, 3.0)
    assert site.warnings == ()
    assert "every interface is there" in caplog.text
    links.set()
    turn(site, 4.0)
    links.set(Interface("eth1", 9))  # made again
    turn(site, 5.0)
    assert slot.done == [
        filter_of((2, 3)), filter_of((2,)), filter_of((2, 4)), packet_filter.drop_all(), filter_of((9,)),
    ]  # fmt: skip
    assert site.lost() == ""


def test_members_are_left_out_from_when_they_are_members(host: Host, slot: Slot, links: Links) -> None:
    links.set(Interface("eth0", 2))
    site = site_of(host, slot, links=links)
    turn(site, 1.0)
    links.set(Interface("eth0", 2, "bridge"), Interface("br0", 5))
    turn(site, 2.0)
    assert slot.done == [filter_of(), filter_of(left_out=(2,))]


def test_a_single_interface_that_is_bound_to_is_lost_with_its_index_or_its_name_but_not_with_a_bridge(
    host: Host, slot: Slot, links: Links
) -> None:
    links.set(Interface("eth0", 2))
    site = site_of(host, slot, links=links, names=("eth0",), bound=Interface("eth0", 2))
    turn(site, 1.0)
    for present, lost in (
        (Interface("eth0", 2, "bridge"), ""),
        (Interface("eth0", 3), "interface eth0 is gone"),
        (Interface("eth9", 2), "interface eth0 is gone"),
    ):
        links.set(present)
        site.look(2.0)
        assert site.lost() == lost


@dataclass
class Counted:
    interfaces: dict[int, tuple[int, int]]


def test_packets_are_told_by_the_names_that_interfaces_have_or_had(host: Host, slot: Slot, links: Links) -> None:
    links.set(Interface("lo", 1), Interface("eth0", 2))
    site = site_of(host, slot, links=links)
    links.set(Interface("lo", 1), Interface("eth0", 3))  # made again
    site.look(1.0)
    counted = Counted({1: (5, 0), 2: (1, 2), 3: (10, 20), 77: (1, 0), 0: (2, 0)})
    assert site.traffic(cast("Any", counted)) == {"lo": (5, 0), "eth0": (11, 22), "others": (3, 0)}
