from __future__ import annotations

import socket
import struct

import pytest

from collector.capture import interfaces, netlink
from collector.capture.interfaces import MOST_LEFT_OUT, Interface, InterfaceError, Interfaces

LO, ETH0, PORT = Interface("lo", 1), Interface("eth0", 2), Interface("eth1", 3, "bridge")
SLAVE, ROUTED, SWITCHED = Interface("eth2", 4, "bond"), Interface("eth3", 5, "vrf"), Interface("tap0", 6, "openvswitch")
ALL = (LO, ETH0, PORT, SLAVE, ROUTED, SWITCHED)


def test_names_are_chosen_in_their_order_and_those_that_are_missing_left() -> None:
    assert interfaces.choose(["eth0", "nosuch0", "lo"], ALL) == (ETH0, LO)
    assert interfaces.choose([], ALL) == ()


def test_names_that_do_not_exist_are_listed_with_those_that_do() -> None:
    assert interfaces.require(["eth0", "lo"], ALL) == (ETH0, LO)
    with pytest.raises(InterfaceError, match=r"no interfaces nosuch0, nosuch1 here(.|\n)*eth0, (.|\n)*lo") as caught:
        interfaces.require(["nosuch0", "lo", "nosuch1"], ALL)
    assert "capture.interfaces" in caught.value.remedy


def test_what_another_interface_shows_is_left_out_and_what_passes_a_bridge_only_if_the_servers_are_here() -> None:
    assert interfaces.left_out(ALL, local=True) == (3, 4, 6)
    assert interfaces.left_out(ALL, local=False) == (4,)


def test_a_filter_is_not_given_more_than_it_has_room_for() -> None:
    many = [Interface(f"veth{number}", number, "bridge") for number in range(1, 2 * MOST_LEFT_OUT)]
    assert interfaces.left_out(many, local=True) == tuple(range(1, MOST_LEFT_OUT + 1))


def test_the_kernel_names_its_interfaces() -> None:
    known = Interfaces()
    assert [(one.index, one.name) for one in known.now()] == sorted(socket.if_nameindex())
    assert not known.changed()
    known.close()


def attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def test_a_member_has_the_kind_of_what_it_is_a_member_of(monkeypatch: pytest.MonkeyPatch) -> None:
    link = struct.pack("=BxHiII", 0, 1, 7, 0, 0)
    kind = attribute(18, attribute(1, b"veth\0") + attribute(4, b"bridge\0"))
    answers = [
        link + attribute(3, b"port\0") + attribute(10, struct.pack("=I", 9)) + kind,
        link + attribute(3, b"odd\0") + attribute(10, struct.pack("=I", 9)),
        link + attribute(3, b"free\0") + attribute(18, attribute(1, b"veth\0")),
    ]
    monkeypatch.setattr(netlink, "dump", lambda *_: answers)
    known = Interfaces()
    assert set(known.now()) == {Interface("port", 7, "bridge"), Interface("odd", 7, "unknown"), Interface("free", 7)}
    known.close()
