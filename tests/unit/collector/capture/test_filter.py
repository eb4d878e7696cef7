from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from collector.capture import bpf
from collector.capture.filter import SNAPPED, WHOLE, Selection, build, drop_all
from tests.unit.collector.capture.interpreter import run
from tests.unit.collector.capture.packets import ACK, CLIENT, FIN, PSH, RST, SERVER, SYN, ipv4, ipv6, tcp

Make = Callable[..., bytes]

HOST, OTHER_HOST, OUTGOING = 0, 3, 4
ETHERNET, LOOPBACK = 1, 772

QUERY = b"\x09\x00\x00\x00\x03SELECT 1"
OK = b"\x07\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00"
GREETING = b"\x4a\x00\x00\x00\x0a10.11.6-MariaDB\x00"
PREPARE_OK = b"\x0c\x00\x00\x01\x00\x01\x00\x00\x00\x02\x00\x01\x00\x00\x00\x00"


def given(
    packet: bytes,
    *,
    responses: str = "first",
    local: bool = False,
    tunnels: tuple[str, ...] = (),
    interfaces: tuple[int, ...] = (),
    left_out: tuple[int, ...] = (),
    ports: tuple[int, ...] = (SERVER,),
    protocol: int | None = None,
    kind: int = HOST,
    hardware: int = ETHERNET,
    interface: int = 2,
    vlan: int | None = None,
    keep: float = 1.0,
) -> int:
    chosen = Selection(
        ports=ports,
        responses=responses,
        tunnels=tunnels,
        interfaces=interfaces,
        left_out=left_out,
        local=local,
        keep=keep,
    )
    program = build(chosen)
    return run(
        program,
        packet,
        {
            bpf.PROTOCOL: (0x86DD if packet[0] >> 4 == 6 else 0x0800) if protocol is None else protocol,
            bpf.PACKET_TYPE: kind,
            bpf.HARDWARE_TYPE: hardware,
            bpf.INTERFACE: interface,
            bpf.VLAN_TAG_PRESENT: vlan is not None,
            bpf.VLAN_TAG: vlan or 0,
        },
    )


def passes(packet: bytes, **how: Any) -> bool:  # noqa: ANN401  # as given() takes them
    found = given(packet, **how)
    assert found in {0, WHOLE}
    return found == WHOLE


def request(payload: bytes = QUERY, flags: int = PSH | ACK, options: bytes = b"") -> bytes:
    return tcp(CLIENT, SERVER, payload, flags=flags, options=options)


def answer(payload: bytes = OK, flags: int = PSH | ACK) -> bytes:
    return tcp(SERVER, CLIENT, payload, flags=flags)


families = pytest.mark.parametrize("ip", [ipv4, ipv6])
each_setting = pytest.mark.parametrize("responses", ["none", "first", "timing", "all"])


@families
def test_data_to_a_server_passes(ip: Make) -> None:
    assert passes(ip(request()))


@families
def test_a_pure_acknowledgement_does_not_pass(ip: Make) -> None:
    assert not passes(ip(request(b"")))
    assert not passes(ip(answer(b"")))


@families
@each_setting
@pytest.mark.parametrize("flags", [SYN, SYN | ACK, FIN | ACK, RST, RST | ACK])
def test_opening_and_closing_passes_both_ways(ip: Make, responses: str, flags: int) -> None:
    assert passes(ip(request(b"", flags)), responses=responses)
    assert passes(ip(answer(b"", flags)), responses=responses)


@families
def test_other_ports_do_not_pass(ip: Make) -> None:
    assert not passes(ip(tcp(CLIENT, 3307, QUERY)))
    assert not passes(ip(tcp(3307, CLIENT, OK)))
    assert not passes(ip(tcp(CLIENT, 3307, b"", flags=SYN)))


@families
def test_each_of_many_ports_passes(ip: Make) -> None:
    ports = tuple(range(10000, 10300))
    for port in (10000, 10150, 10299):
        assert passes(ip(tcp(CLIENT, port, QUERY)), ports=ports)
        assert passes(ip(tcp(port, CLIENT, OK)), ports=ports)
    assert not passes(ip(tcp(CLIENT, 10300, QUERY)), ports=ports)


@families
def test_options_of_the_tcp_header_are_not_payload(ip: Make) -> None:
    timestamps = b"\x01\x01\x08\x0a" + bytes(8)
    assert not passes(ip(request(b"", ACK, timestamps)))
    assert passes(ip(request(b"x", ACK, timestamps)))


def test_options_of_the_ipv4_header_are_stepped_over() -> None:
    options = b"\x94\x04\x00\x00" * 10  # the most there can be
    assert passes(ipv4(request(), options=options))
    assert not passes(ipv4(request(b""), options=options))
    assert not passes(ipv4(tcp(CLIENT, 3307, QUERY), options=options))


def test_padding_of_a_short_frame_is_not_payload() -> None:
    assert not passes(ipv4(request(b"")) + bytes(6))
    assert not passes(ipv6(request(b"")) + bytes(6))


@families
def test_a_length_of_zero_counts_as_payload(ip: Make) -> None:
    assert passes(ip(request(), length=0))
    assert not passes(ip(request(b""), length=0))


@families
def test_other_transports_do_not_pass(ip: Make) -> None:
    keyword = "protocol" if ip is ipv4 else "following"
    assert not passes(ip(request(), **{keyword: 17}))


def test_other_protocols_do_not_pass() -> None:
    assert not passes(ipv4(request()), protocol=0x0806)
    assert not passes(ipv4(request()), protocol=0x8100)


def test_only_the_first_fragment_passes() -> None:
    assert passes(ipv4(request(), fragment=0x2000))
    assert not passes(ipv4(request(), fragment=0x2001))
    assert not passes(ipv4(request(), fragment=0x0010))


@pytest.mark.parametrize("header", [0, 43, 60])
@pytest.mark.parametrize("eights", [0, 1, 5])
def test_one_ipv6_extension_header_is_stepped_over(header: int, eights: int) -> None:
    extension = bytes([6, eights]) + bytes(6 + 8 * eights)
    assert passes(ipv6(request(), following=header, extensions=extension))
    assert not passes(ipv6(request(b""), following=header, extensions=extension))
    assert not passes(ipv6(tcp(CLIENT, 3307, QUERY), following=header, extensions=extension))


def test_a_jumbo_packet_of_big_tcp_passes() -> None:
    hop_by_hop = b"\x06\x00\xc2\x04" + (100_000).to_bytes(4, "big")
    assert passes(ipv6(request(bytes(99_972)), following=0, extensions=hop_by_hop, length=0))


def test_ipv6_fragments_and_further_extension_headers_do_not_pass() -> None:
    assert not passes(ipv6(request(), following=44, extensions=b"\x06" + bytes(7)))
    assert not passes(ipv6(request(), following=0, extensions=b"\x3c" + bytes(7) + b"\x06" + bytes(7)))


@pytest.mark.parametrize("length", range(1, 20 + 20))
def test_a_packet_that_ends_within_its_headers_does_not_pass(length: int) -> None:
    assert not passes(ipv4(request(b""))[:length])


@families
@pytest.mark.parametrize("sequence", range(9))
def test_answers_pass_where_their_beginning_is_wanted(ip: Make, sequence: int) -> None:
    assert passes(ip(answer(b"\x01\x00\x00" + bytes([sequence]) + b"\x02")))


@pytest.mark.parametrize(
    "payload", [b"\x01\x00\x00\x09\x02", b"\x01\x00\x01\x01\x02", b"plain row data", b"\x05\x00\x00"]
)
def test_what_does_not_begin_like_an_answer_does_not_pass(payload: bytes) -> None:
    assert not passes(ipv4(answer(payload)))
    assert not passes(ipv4(answer(payload)), responses="none")


@families
def test_without_responses_only_greetings_and_answers_to_prepare_pass(ip: Make) -> None:
    assert passes(ip(answer(GREETING)), responses="none")
    assert passes(ip(answer(PREPARE_OK)), responses="none")
    assert not passes(ip(answer(OK)), responses="none")
    assert not passes(ip(answer(b"\x0a\x00\x00\x01\xff\x48\x04#HY000")), responses="none")


@pytest.mark.parametrize("version", [10, 9, 0xFF])
def test_every_kind_of_greeting_passes_without_responses(version: int) -> None:
    assert passes(ipv4(answer(b"\x17\x00\x00\x00" + bytes([version]) + b"...")), responses="none")


@pytest.mark.parametrize(
    "payload",
    [
        b"\x17\x00\x00\x00\x08...",  # no greeting has this version
        b"\x17\x00\x01\x00\x0a...",  # none is that long
        b"\x17\x00\x00\x02\x0a...",  # and all are the first packet
        b"\x0c\x00\x00\x01\xff...",  # an error that is as long as a PREPARE_OK
        b"\x0c\x00\x00\x02\x00...",
        b"\x0d\x00\x00\x01\x00...",
        b"\x17\x00\x00\x00",
        b"\x0c\x00\x00\x01",
    ],
)
def test_what_only_resembles_a_greeting_or_an_answer_to_prepare_does_not_pass(payload: bytes) -> None:
    assert not passes(ipv4(answer(payload)), responses="none")


@pytest.mark.parametrize("local", [False, True])
def test_of_the_two_copies_on_loopback_one_passes(local: bool) -> None:
    for packet in (ipv4(request()), ipv4(answer()), ipv6(request()), ipv6(answer())):
        seen = [passes(packet, local=local, kind=kind, hardware=LOOPBACK) for kind in (OUTGOING, HOST)]
        assert seen == [False, True]


def test_where_servers_are_elsewhere_both_ways_pass_in_any_direction() -> None:
    for packet in (ipv4(request()), ipv4(answer())):
        for kind in (HOST, OTHER_HOST, OUTGOING):
            assert passes(packet, kind=kind)


def test_where_servers_are_local_requests_come_in_and_answers_go_out() -> None:
    assert passes(ipv4(request()), local=True, kind=HOST)
    assert not passes(ipv4(request()), local=True, kind=OUTGOING)
    assert not passes(ipv4(request()), local=True, kind=OTHER_HOST)
    assert passes(ipv4(answer()), local=True, kind=OUTGOING)
    assert not passes(ipv4(answer()), local=True, kind=HOST)


def test_where_servers_are_local_the_copy_of_a_vlans_underlying_interface_does_not_pass() -> None:
    assert not passes(ipv4(request()), local=True, vlan=100)
    assert not passes(ipv4(answer()), local=True, vlan=100, kind=OUTGOING)
    assert passes(ipv4(request()), local=True, vlan=0x2000)  # a priority, and no VLAN
    assert passes(ipv4(request()), local=True, vlan=100, interfaces=(2,))  # asked for by name
    assert passes(ipv4(request()), vlan=100)


@families
def test_only_named_interfaces_pass(ip: Make) -> None:
    for packet in (ip(request()), ip(answer()), ip(request(b"", SYN))):
        seen = [passes(packet, interfaces=(2, 7), interface=number) for number in (1, 2, 3, 7)]
        assert seen == [False, True, False, True]


@families
def test_interfaces_that_are_left_out_pass_nothing(ip: Make) -> None:
    for packet in (ip(request()), ip(answer()), ip(request(b"", SYN)), carried(4, 4, ip(request()))):
        seen = [passes(packet, left_out=(7, 9), interface=number, tunnels=("ipip",)) for number in (7, 8, 9)]
        assert seen == [False, True, False]


def test_a_filter_without_ports_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one port"):
        build(Selection(ports=()))


def test_nothing_passes_a_shut_socket() -> None:
    assert run(drop_all(), ipv4(request()), {}) == 0


ANSWERS = [OK, GREETING, PREPARE_OK, b"\x01", b"row data that begins like no answer", bytes(60_000)]


@families
@pytest.mark.parametrize("payload", ANSWERS, ids=len)
def test_with_all_responses_every_answer_passes_whole(ip: Make, payload: bytes) -> None:
    assert given(ip(answer(payload)), responses="all") == WHOLE


@families
@pytest.mark.parametrize("payload", ANSWERS, ids=len)
def test_with_timing_every_answer_passes_up_to_an_errors_text(ip: Make, payload: bytes) -> None:
    assert given(ip(answer(payload)), responses="timing") == SNAPPED
    assert SNAPPED >= 60 + 60 + 4 + 9 + 512


@pytest.mark.parametrize("responses", ["timing", "all"])
def test_what_is_no_payload_of_a_server_passes_no_more_than_before(responses: str) -> None:
    assert given(ipv4(answer(b"")), responses=responses) == 0
    assert given(ipv4(request(QUERY)), responses=responses) == WHOLE
    assert given(ipv4(tcp(CLIENT, SERVER + 1, QUERY, flags=PSH | ACK)), responses=responses) == 0
    assert given(ipv4(answer(OK)), responses=responses, local=True, kind=OUTGOING) != 0
    assert given(ipv4(answer(OK)), responses=responses, local=True, kind=HOST) == 0


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize(
    ("name", "protocol", "body"),
    [
        ("gre", 47, b""),
        ("ipip", 4, b""),
        ("ipip", 41, b""),
        ("vxlan", 17, b"\xc7\x38\x12\xb5\0\0\0\0"),
    ],
)
def test_all_packets_of_a_tunnel_pass_where_it_is_asked_for(name: str, protocol: int, body: bytes, local: bool) -> None:
    for packet in (carried(4, protocol, body), carried(6, protocol, body), carried(4, protocol, body, options=8)):
        for kind in (HOST, OTHER_HOST, OUTGOING):
            assert passes(packet, tunnels=(name,), local=local, kind=kind)
            assert passes(packet, tunnels=("vxlan", "gre", "ipip"), local=local, kind=kind)
            assert not passes(packet, local=local, kind=kind)
            others = tuple({"vxlan", "gre", "ipip"} - {name})
            assert not passes(packet, tunnels=others, local=local, kind=kind)
        assert not passes(packet, tunnels=(name,), interfaces=(7,))
        assert not passes(packet, tunnels=(name,), kind=OUTGOING, hardware=LOOPBACK)


def test_other_udp_packets_do_not_pass() -> None:
    for body in (b"\x12\xb5\xc7\x38\0\0\0\0", b"\x12"):
        assert not passes(carried(4, 17, body), tunnels=("vxlan",))
        assert not passes(carried(6, 17, body), tunnels=("vxlan",))
    fragment = bytearray(carried(4, 17, b"\xc7\x38\x12\xb5"))
    fragment[7] = 1
    assert not passes(bytes(fragment), tunnels=("vxlan",))


@families
def test_segments_of_the_servers_pass_beside_tunnels(ip: Make) -> None:
    tunnels = ("vxlan", "gre", "ipip")
    assert passes(ip(request()), tunnels=tunnels)
    assert passes(ip(answer()), tunnels=tunnels)
    assert not passes(ip(tcp(CLIENT, 3307, QUERY)), tunnels=tunnels)


def carried(version: int, protocol: int, body: bytes, options: int = 0) -> bytes:
    """An IP packet of another protocol than TCP."""
    if version == 6:
        return b"\x60\0\0\0" + len(body).to_bytes(2, "big") + bytes([protocol, 64]) + bytes(32) + body
    header = 20 + options
    fixed = bytes([0x40 | header // 4, 0]) + (header + len(body)).to_bytes(2, "big") + bytes(5)
    return fixed + bytes([protocol]) + bytes(10 + options) + body


def ends(ip: Make, client: int, port: int, *, server: int = 9) -> tuple[bytes, ...]:
    """All that passes of a connection between hosts of those numbers: both directions of it."""
    made = []
    for to_server in (True, False):
        ports = (port, SERVER) if to_server else (SERVER, port)
        for payload, flags in ((b"", SYN), (QUERY if to_server else OK, PSH | ACK), (b"", FIN | ACK)):
            packet = bytearray(ip(tcp(*ports, payload, flags=flags)))
            places = (15, 19) if ip is ipv4 else (23, 39)
            for at, value in zip(places, (client, server) if to_server else (server, client), strict=True):
                packet[at] = value
            made.append(bytes(packet))
    return tuple(made)


def kept(ip: Make, keep: float) -> set[tuple[int, int]]:
    """The connections that pass; none does in part."""
    found = set()
    for client in range(1, 9):
        for port in range(40_000, 40_100, 2):
            verdicts = {passes(packet, keep=keep) for packet in ends(ip, client, port)}
            assert len(verdicts) == 1, (client, port)
            if verdicts == {True}:
                found.add((client, port))
    return found


@families
def test_of_a_share_of_connections_each_is_whole_and_a_smaller_share_is_part_of_a_larger(ip: Make) -> None:
    found = [kept(ip, share) for share in (0.01, 0.1, 0.25, 0.5, 1.0)]
    assert [len(one) / 400 for one in found] == pytest.approx([0.01, 0.1, 0.25, 0.5, 1.0], abs=0.05)
    assert all(smaller < larger for smaller, larger in pairwise(found))


def test_a_share_changes_nothing_for_what_does_not_pass_and_leaves_tunnels_alone() -> None:
    for port in range(40_000, 40_050):
        assert not passes(ipv4(tcp(port, 3307, QUERY)), keep=0.99)
        assert not passes(ipv4(tcp(port, SERVER)), keep=0.99)
    assert passes(carried(4, 47, b""), tunnels=("gre",), keep=0.01)


def test_a_share_passes_the_headers_behind_options_and_extensions() -> None:
    extension = b"\x06\x01" + bytes(14)
    for port in range(40_000, 40_050):
        segment = tcp(port, SERVER, QUERY)
        assert passes(ipv4(segment), keep=0.5) == passes(ipv4(segment, options=bytes(8)), keep=0.5)
        assert passes(ipv6(segment), keep=0.5) == passes(ipv6(segment, following=0, extensions=extension), keep=0.5)
