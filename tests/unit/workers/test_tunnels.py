from __future__ import annotations

import ipaddress
import struct

import pytest

from tests.support import mysql_packets as mysql
from tests.support.carriers import (
    BRIDGED_TYPE,
    GRE,
    IPV4_INSIDE,
    IPV6_INSIDE,
    SERVICE_VLAN_TYPE,
    UDP,
    VLAN_TYPE,
    ethernet,
    fragments,
    gre,
    in_tunnel,
    vxlan,
)
from tests.support.packets import Connection, ipv4, ipv6, tcp
from tests.support.pipeline import Capture, logged_in, texts
from workers.packet import FRAGMENT, MALFORMED, NOT_TCP, TCP, Packet
from workers.settings import Settings
from workers.tunnels import TUNNELS, inner, tunnelled

ALL = sum(TUNNELS.values())
QUERY = b"SELECT 1"
INSIDE = ipv4(tcp(QUERY), source="10.0.0.7")
INSIDE_6 = ipv6(tcp(QUERY))


def decode(data: bytes, tunnels: int = ALL, *, cut: int | None = None) -> tuple[int, Packet]:
    """Decode *data*, of which *cut* bytes were captured, in the middle of other bytes."""
    packet = Packet(tunnels)
    captured = data if cut is None else data[:cut]
    kind = packet.decode(b"\xff" * 5 + captured + b"\xff" * 9, 5, 5 + len(captured), len(data))
    return kind, packet


def found(data: bytes) -> bytes:
    """The payload of the TCP segment inside."""
    kind, packet = decode(data)
    assert kind == TCP
    assert packet.missing == 0
    return data[packet.payload - 5 : packet.payload_end - 5]


@pytest.mark.parametrize("inside", [INSIDE, INSIDE_6], ids=["ipv4", "ipv6"])
@pytest.mark.parametrize("name", TUNNELS)
def test_a_tunnel_is_gone_through_when_it_is_asked_for(name: str, inside: bytes) -> None:
    data = in_tunnel(name, inside)
    assert found(data) == QUERY
    assert decode(data, TUNNELS[name])[0] == TCP
    assert decode(data, ALL & ~TUNNELS[name])[0] == NOT_TCP
    assert decode(data, 0)[0] == NOT_TCP


def test_the_addresses_are_those_inside() -> None:
    _, packet = decode(in_tunnel("vxlan", INSIDE))
    assert ipaddress.IPv4Address(packet.source_low & 0xFFFFFFFF) == ipaddress.IPv4Address("10.0.0.7")


@pytest.mark.parametrize(
    "data",
    [
        ipv6(vxlan(INSIDE), following=UDP),
        ipv6(gre(INSIDE_6), following=GRE),
        ipv6(INSIDE, following=IPV4_INSIDE),
        ipv6(INSIDE_6, following=IPV6_INSIDE),
        ipv4(vxlan(INSIDE, SERVICE_VLAN_TYPE, VLAN_TYPE), protocol=UDP),
        ipv4(gre(INSIDE, flags=0x8000), protocol=GRE),
        ipv4(gre(INSIDE, flags=0x2000), protocol=GRE),
        ipv4(gre(INSIDE, flags=0xB000), protocol=GRE),
        ipv4(gre(ethernet(INSIDE, VLAN_TYPE), kind=BRIDGED_TYPE), protocol=GRE),
        ipv4(INSIDE, protocol=IPV4_INSIDE, options=b"\x01\x01\x01\0"),
        in_tunnel("gre", in_tunnel("vxlan", in_tunnel("ipip", in_tunnel("gre", INSIDE)))),
    ],
)
def test_tunnels_come_in_many_forms(data: bytes) -> None:
    assert found(data) == QUERY


@pytest.mark.parametrize(
    "data",
    [
        ipv4(vxlan(INSIDE, port=8472), protocol=UDP),
        ipv4(vxlan(INSIDE, flags=0), protocol=UDP),
        ipv4(gre(INSIDE, flags=0x4000), protocol=GRE),
        ipv4(gre(INSIDE, flags=0x0001), protocol=GRE),
        ipv4(gre(INSIDE, kind=0x880B), protocol=GRE),
        ipv4(gre(ethernet(INSIDE, kind=0x0806), kind=BRIDGED_TYPE), protocol=GRE),
        ipv4(vxlan(INSIDE, *[VLAN_TYPE] * 4), protocol=UDP),
        in_tunnel("gre", ipv4(b"\0" * 8, protocol=UDP)),
        in_tunnel("ipip", in_tunnel("ipip", in_tunnel("ipip", in_tunnel("ipip", in_tunnel("ipip", INSIDE))))),
    ],
)
def test_what_is_no_tunnel_is_not_taken_for_one_and_depth_is_bounded(data: bytes) -> None:
    assert decode(data)[0] == NOT_TCP


@pytest.mark.parametrize("name", TUNNELS)
def test_a_packet_inside_that_is_longer_than_what_carries_it_is_malformed(name: str) -> None:
    assert decode(in_tunnel(name, ipv4(tcp(QUERY), length=200)))[0] == MALFORMED


@pytest.mark.parametrize("name", TUNNELS)
def test_no_cut_reads_outside_and_what_was_not_captured_is_missing(name: str) -> None:
    data = in_tunnel(name, INSIDE)
    for size in range(len(data)):
        kind, packet = decode(data, cut=size)
        if kind == TCP:
            assert packet.payload_end - packet.payload + packet.missing == len(QUERY)
        else:
            assert kind == MALFORMED


def test_padding_behind_what_carries_is_no_payload() -> None:
    data = in_tunnel("ipip", ipv4(tcp(QUERY), length=0)) + b"pad"
    kind, packet = decode(data)
    assert kind == TCP
    assert data[packet.payload - 5 : packet.payload_end - 5] == QUERY


def test_fragments_of_a_tunnels_packet_are_fragments() -> None:
    data = in_tunnel("vxlan", INSIDE)
    assert [decode(one)[0] for one in fragments(data, 64)] == [FRAGMENT] * 2
    assert [decode(one, 0)[0] for one in fragments(data, 64)] == [NOT_TCP] * 2
    assert decode(in_tunnel("vxlan", fragments(INSIDE, 24)[0]))[0] == FRAGMENT


def test_where_a_packet_begins_inside_can_be_asked() -> None:
    body = gre(INSIDE)
    assert inner(body, 0, len(body), GRE, ALL) == 4
    assert inner(body, 0, len(body), 6, ALL) == -1
    with pytest.raises(IndexError):
        inner(struct.pack(">H", 0), 0, 2, GRE, ALL)
    assert [tunnelled(number, ALL) for number in (4, 6, 17, 41, 47, 50)] == [True, False, True, True, True, False]


def test_a_connection_in_tunnels_is_followed() -> None:
    capture, connection = Capture(Settings(ports=(3306,), tunnels=("vxlan", "gre"))), Connection()
    packets = [*logged_in(connection), connection.client(mysql.query(QUERY)), connection.server(mysql.result())]
    capture.feed(*[in_tunnel(("vxlan", "gre")[number % 2], packet) for number, packet in enumerate(packets)])
    assert texts(capture.finish()) == [QUERY]


def test_without_being_asked_for_tunnels_are_foreign() -> None:
    capture, connection = Capture(Settings(ports=(3306,))), Connection()
    capture.feed(*[in_tunnel("vxlan", packet) for packet in logged_in(connection)])
    assert capture.counted("packets_foreign") == (6,)
