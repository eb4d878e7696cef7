from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable

import pytest

from collector.capture import bpf, connection
from tests.unit.collector.capture.interpreter import run
from tests.unit.collector.capture.packets import ipv4, ipv6, tcp

LINK = 14
HOST, OUTGOING = 0, 4


def between(packet: bytes, source: int, target: int) -> bytes:
    """The packet with the last byte of its addresses set."""
    changed = bytearray(packet)
    ends = (15, 19) if packet[0] >> 4 == 4 else (23, 39)
    for at, value in zip(ends, (source, target), strict=True):
        changed[at] = value
    return bytes(changed)


def number(packet: bytes, *, outgoing: bool = False, protocol: int | None = None) -> int:
    """What the program says of a packet, as a group's hook has it."""
    version = {4: 0x0800, 6: 0x86DD}[packet[0] >> 4]
    auxiliary = {
        bpf.PROTOCOL: version if protocol is None else protocol,
        bpf.PACKET_TYPE: OUTGOING if outgoing else HOST,
    }
    link = b"\xee" * LINK if outgoing else b""
    return run(connection.spread(), link + packet, auxiliary, len(link))


HOP_BY_HOP = b"\x06\x01" + bytes(14)
SHAPES: dict[str, Callable[[bytes], bytes]] = {
    "IPv4": ipv4,
    "IPv4 with options": lambda segment: ipv4(segment, options=bytes(8)),
    "IPv6": ipv6,
    "IPv6 with an extension": lambda segment: ipv6(segment, following=0, extensions=HOP_BY_HOP),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("back_as", SHAPES)
def test_both_directions_have_one_number_in_and_out_whatever_their_headers(shape: str, back_as: str) -> None:
    if shape[:4] != back_as[:4]:
        return
    for port in (1, 3306, 40_000, 65_535):
        there = between(SHAPES[shape](tcp(port, 3306, b"x")), 200, 255)
        back = between(SHAPES[back_as](tcp(3306, port)), 255, 200)
        assert len({number(one, outgoing=out) for one in (there, back) for out in (True, False)}) == 1


@pytest.mark.parametrize("shape", ["IPv4", "IPv6"])
@pytest.mark.parametrize("step", [1, 2, 4])
def test_the_connections_of_one_client_are_spread_evenly(shape: str, step: int) -> None:
    ports = range(32_768, 32_768 + 4096 * step, step)
    spread = [number(SHAPES[shape](tcp(port, 3306))) for port in ports]
    for members in (2, 3, 4, 8):
        found = Counter(one % members for one in spread)
        assert len(found) == members
        assert min(found.values()) > 4096 / members * 0.8


def test_clients_that_use_one_port_are_spread_by_their_addresses() -> None:
    found = {number(between(ipv4(tcp(40_000, 3306)), host, 1)) % 4 for host in range(64)}
    assert found == {0, 1, 2, 3}


def test_all_fragments_of_a_datagram_and_all_of_a_tunnel_go_the_same_way() -> None:
    first, second = ipv4(tcp(1, 2, b"x"), fragment=0x2000), ipv4(b"the rest", fragment=0x0010)
    assert number(first) == number(second)
    carried = {number(ipv4(struct.pack(">4H", port, 4789, 8, 0), protocol=17)) for port in range(50)}
    assert len(carried) == 1
    there, back = between(ipv4(b"", protocol=47), 1, 2), between(ipv4(b"", protocol=47), 2, 1)
    assert number(there) == number(back)


def test_what_is_not_ip_or_ends_too_soon_goes_to_the_first() -> None:
    assert number(ipv4(tcp(1, 2)), protocol=0x0806) == 0
    assert number(ipv4(tcp(1, 2))[:21]) == 0
