from __future__ import annotations

import ipaddress
from collections.abc import Callable

import pytest

from tests.support.carriers import fragments
from tests.support.packets import ACK, CLIENT_PORT, FIN, PSH, RST, SERVER_PORT, SYN, extension, ipv4, ipv6, tcp
from workers import packet as decoder
from workers.packet import FRAGMENT, MALFORMED, NOT_TCP, TCP, Packet

Wrap = Callable[..., bytes]

HOP_BY_HOP, ROUTING, FRAGMENT_HEADER, DESTINATION = 0, 43, 44, 60  # protocol numbers, RFC 8200
UDP = 17
MORE_FRAGMENTS, DONT_FRAGMENT = 0x2000, 0x4000  # RFC 791 section 3.1
OPTIONS = b"\x01\x01\x08\x0a" + bytes(8)  # no-operation twice, timestamps


def decode(data: bytes, *, wire_length: int | None = None) -> tuple[int, Packet]:
    """Decode *data* in the middle of other bytes, none of which may be read."""
    packet = Packet()
    buffer = b"\xff" * 7 + data + b"\xff" * 60
    found = packet.decode(buffer, 7, 7 + len(data), len(data) if wire_length is None else wire_length)
    return found, packet


def payload(data: bytes, packet: Packet) -> bytes:
    """The payload of the packet that decode() read."""
    return data[packet.payload - 7 : packet.payload_end - 7]


def address(high: int, low: int) -> str:
    return str(ipaddress.IPv6Address(high << 64 | low))


def test_ipv4_addresses_stand_as_mapped_ones() -> None:
    found, packet = decode(ipv4(tcp(), source="10.1.2.3", target="255.255.255.255"))
    assert found == TCP
    assert ipaddress.IPv6Address(packet.source_high << 64 | packet.source_low).ipv4_mapped == ipaddress.IPv4Address(
        "10.1.2.3"
    )
    assert ipaddress.IPv6Address(packet.target_high << 64 | packet.target_low).ipv4_mapped == ipaddress.IPv4Address(
        "255.255.255.255"
    )


def test_ipv6_addresses_are_read_whole() -> None:
    source, target = "2001:db8:1234:5678:9abc:def0:8000:1", "ff02:fedc:ba98:7654:3210:89ab:cdef:2"
    found, packet = decode(ipv6(tcp(), source=source, target=target))
    assert found == TCP
    assert address(packet.source_high, packet.source_low) == source
    assert address(packet.target_high, packet.target_low) == target


def test_an_ipv4_packet_behind_an_ipv6_one_leaves_no_half_address() -> None:
    packet = Packet()
    for data in (ipv6(tcp(), source="2001:db8::1", target="2001:db8::2"), ipv4(tcp())):
        assert packet.decode(data, 0, len(data), len(data)) == TCP
    assert (packet.source_high, packet.target_high) == (0, 0)


@pytest.mark.parametrize("wrap", [ipv4, ipv6])
def test_ports_numbers_and_flags_are_read_with_all_their_bits(wrap: Wrap) -> None:
    segment = tcp(source=65535, target=32768, sequence=0xFFFFFFFF, acknowledgment=0x80000000, flags=0xFF)
    found, packet = decode(wrap(segment))
    assert found == TCP
    assert (packet.source_port, packet.target_port) == (65535, 32768)
    assert (packet.sequence, packet.acknowledgment) == (0xFFFFFFFF, 0x80000000)
    assert packet.flags == 0xFF


def test_the_control_bits_are_those_of_the_specification() -> None:
    assert (decoder.FIN, decoder.SYN, decoder.RST, decoder.ACK) == (FIN, SYN, RST, ACK)
    _, packet = decode(ipv4(tcp(b"x", flags=PSH | ACK)))
    assert packet.flags & decoder.ACK
    assert not packet.flags & (decoder.SYN | decoder.FIN | decoder.RST)


@pytest.mark.parametrize("ip_options", [b"", OPTIONS, bytes(40)], ids=["none", "some", "most"])
@pytest.mark.parametrize("tcp_options", [b"", OPTIONS, bytes(40)], ids=["none", "some", "most"])
def test_the_payload_lies_behind_all_options_of_ipv4_and_tcp(ip_options: bytes, tcp_options: bytes) -> None:
    data = ipv4(tcp(b"payload", options=tcp_options), options=ip_options)
    found, packet = decode(data)
    assert found == TCP
    assert payload(data, packet) == b"payload"
    assert packet.missing == 0
    assert packet.source_port == CLIENT_PORT
    assert packet.target_port == SERVER_PORT


@pytest.mark.parametrize(
    ("following", "extensions"),
    [
        pytest.param(HOP_BY_HOP, extension(6), id="hop-by-hop"),
        pytest.param(ROUTING, extension(6, 24), id="routing"),
        pytest.param(DESTINATION, extension(6, 2048), id="destination, the longest"),
        pytest.param(HOP_BY_HOP, extension(DESTINATION) + extension(ROUTING, 16) + extension(6), id="three of them"),
    ],
)
def test_the_payload_lies_behind_all_extension_headers(following: int, extensions: bytes) -> None:
    data = ipv6(tcp(b"payload", options=OPTIONS), following=following, extensions=extensions)
    found, packet = decode(data)
    assert found == TCP
    assert payload(data, packet) == b"payload"
    assert packet.missing == 0


@pytest.mark.parametrize("wrap", [ipv4, ipv6])
def test_padding_of_the_link_is_no_payload(wrap: Wrap) -> None:
    data = wrap(tcp(b"ab")) + b"\xee" * 6
    found, packet = decode(data)
    assert found == TCP
    assert payload(data, packet) == b"ab"
    assert packet.missing == 0


@pytest.mark.parametrize("wrap", [ipv4, ipv6])
def test_a_super_segment_whose_length_does_not_fit_goes_as_far_as_the_wire(wrap: Wrap) -> None:
    text = b"x" * 70_000
    data = wrap(tcp(text), length=0)  # BIG TCP
    found, packet = decode(data)
    assert found == TCP
    assert payload(data, packet) == text
    assert packet.missing == 0


@pytest.mark.parametrize("wrap", [ipv4, ipv6])
def test_of_a_snapped_super_segment_the_rest_is_missing(wrap: Wrap) -> None:
    data = wrap(tcp(b"x" * 70_000), length=0)
    found, packet = decode(data[:200], wire_length=len(data))
    assert found == TCP
    assert len(payload(data[:200], packet)) + packet.missing == 70_000
    assert packet.missing == len(data) - 200


WHOLE = [
    pytest.param(ipv4(tcp(b"payload")), 20, id="ipv4"),
    pytest.param(ipv4(tcp(b"payload"), options=OPTIONS), 32, id="ipv4 with options"),
    pytest.param(ipv6(tcp(b"payload")), 40, id="ipv6"),
    pytest.param(ipv6(tcp(b"payload"), following=HOP_BY_HOP, extensions=extension(6, 16)), 56, id="ipv6, extended"),
]


@pytest.mark.parametrize(("data", "headers"), WHOLE)
def test_a_packet_cut_before_the_flags_of_tcp_is_malformed(data: bytes, headers: int) -> None:
    for end in range(1, headers + 14):
        found, _ = decode(data[:end], wire_length=len(data))
        assert found == MALFORMED, f"cut at {end}"


@pytest.mark.parametrize(("data", "headers"), WHOLE)
def test_what_was_cut_off_a_packet_is_counted_as_missing(data: bytes, headers: int) -> None:
    for end in range(headers + 14, len(data) + 1):
        found, packet = decode(data[:end], wire_length=len(data))
        assert found == TCP, f"cut at {end}"
        there = data[headers + 20 : end]
        assert payload(data[:end], packet) == there
        assert packet.missing == 7 - len(there)


def test_no_bytes_at_all_are_malformed() -> None:
    assert decode(b"")[0] == MALFORMED


def test_a_packet_cut_inside_the_options_of_tcp_has_all_its_payload_missing() -> None:
    data = ipv4(tcp(b"payload", options=OPTIONS))
    for end in range(40, 52):
        found, packet = decode(data[:end], wire_length=len(data))
        assert found == TCP
        assert packet.payload == packet.payload_end <= 7 + end
        assert packet.missing == 7


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(ipv4(tcp(), fragment=MORE_FRAGMENTS), id="first"),
        pytest.param(ipv4(tcp(), fragment=MORE_FRAGMENTS | 185), id="middle"),
        pytest.param(ipv4(tcp(), fragment=185), id="last"),
        pytest.param(fragments(ipv6(tcp(bytes(40))), 24)[0], id="ipv6, first"),
        pytest.param(fragments(ipv6(tcp(bytes(40))), 24)[-1], id="ipv6, last"),
        pytest.param(
            ipv6(tcp(), following=HOP_BY_HOP, extensions=extension(FRAGMENT_HEADER) + b"\x06\0\0\x01" + bytes(4)),
            id="ipv6, extended",
        ),
    ],
)
def test_a_fragment_is_told_from_a_whole_packet(data: bytes) -> None:
    assert decode(data)[0] == FRAGMENT


def test_a_packet_that_must_not_be_fragmented_is_whole() -> None:
    assert decode(ipv4(tcp(), fragment=DONT_FRAGMENT))[0] == TCP


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(ipv4(bytes(8), protocol=UDP), id="udp"),
        pytest.param(ipv4(bytes(8), protocol=UDP, fragment=185), id="a fragment of udp"),
        pytest.param(ipv6(bytes(8), following=UDP), id="udp over ipv6"),
        pytest.param(ipv6(bytes(8), following=HOP_BY_HOP, extensions=extension(UDP)), id="udp behind an extension"),
        pytest.param(ipv6(b"", following=59), id="nothing follows"),
        pytest.param(b"\x00" * 60, id="version 0"),
        pytest.param(b"\xf0" * 60, id="version 15"),
    ],
)
def test_what_is_not_tcp_is_told_from_what_is_broken(data: bytes) -> None:
    assert decode(data)[0] == NOT_TCP


@pytest.mark.parametrize(
    "data",
    [
        # What stands where the header of TCP would then be is sound: the check of the IP header has to refuse them.
        pytest.param(b"\x44" + ipv4(tcp(bytes(9), acknowledgment=0x50000000))[1:], id="an ip header of 16 bytes"),
        pytest.param(b"\x40" + ipv4(tcp(bytes(9)), source="80.0.0.1")[1:], id="an ip header of 0 bytes"),
        pytest.param(ipv4(tcp(), length=19), id="a packet shorter than its header"),
        pytest.param(ipv4(tcp(), length=39), id="no room for the header of tcp"),
        pytest.param(ipv4(tcp(options=OPTIONS), length=51), id="no room for the options of tcp"),
        pytest.param(ipv4(tcp(b"ab")[:12] + b"\x40" + tcp(b"ab")[13:]), id="a tcp header of 16 bytes"),
        pytest.param(ipv4(tcp(b"ab")[:12] + b"\x00" + tcp(b"ab")[13:]), id="a tcp header of 0 bytes"),
        pytest.param(ipv4(tcp(b"ab")[:12] + b"\xf0" + tcp(b"ab")[13:]), id="a tcp header longer than the packet"),
        pytest.param(ipv6(tcp(), length=19), id="ipv6, no room for the header of tcp"),
        pytest.param(
            ipv6(tcp(), following=HOP_BY_HOP, extensions=extension(6), length=20), id="an extension is counted too"
        ),
        pytest.param(
            ipv6(b"", following=HOP_BY_HOP, extensions=b"\x06\xff" + bytes(6)), id="an extension longer than the packet"
        ),
    ],
)
def test_headers_that_contradict_themselves_are_malformed(data: bytes) -> None:
    assert decode(data)[0] == MALFORMED


@pytest.mark.parametrize("wrap", [ipv4, ipv6])
def test_a_packet_that_claims_more_than_was_on_the_wire_is_malformed(wrap: Wrap) -> None:
    """A kernel drops it, so no byte of it may move the stream on."""
    segment = tcp(b"ab")
    assert decode(wrap(segment, length=len(wrap(segment)) + 1))[0] == MALFORMED


def test_extension_headers_without_end_are_walked_to_the_end_of_the_packet_only() -> None:
    data = ipv6(b"", following=HOP_BY_HOP, extensions=extension(HOP_BY_HOP) * 200)
    assert decode(data)[0] == MALFORMED


def test_an_atomic_fragment_is_a_whole_packet() -> None:
    (atomic,) = fragments(ipv6(tcp(b"SELECT 1")), 1480)
    found, packet = decode(atomic)
    assert found == TCP
    assert payload(atomic, packet) == b"SELECT 1"


@pytest.mark.parametrize(("number", "unit"), [(51, 4), (135, 8)])
def test_other_ipv6_extension_headers_are_stepped_over(number: int, unit: int) -> None:
    header = bytes([6, 2]) + bytes(8 + 2 * unit - 2)
    data = ipv6(tcp(b"SELECT 1"), following=number, extensions=header)
    found, packet = decode(data)
    assert found == TCP
    assert payload(data, packet) == b"SELECT 1"


@pytest.mark.parametrize("make", [ipv4, ipv6])
def test_a_packet_longer_than_any_is_malformed(make: Wrap) -> None:
    data = make(tcp(b"SELECT 1"), length=0)
    assert decode(data, wire_length=1 << 24)[0] == TCP
    assert decode(data, wire_length=(1 << 24) + 1)[0] == MALFORMED
