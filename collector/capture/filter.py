"""The socket filter: which packets of the host are worth a worker's time. Builds programs, attaches nothing.

The sockets are SOCK_DGRAM, so offset 0 is the IP header on every kind of link. Offsets are plain ones on purpose: the
SKF_NET_OFF form reads only the linear part of a packet, and the payload of what the server sends is not in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from collector.capture import bpf, connection
from collector.capture.bpf import Assembler, Instruction

WHOLE: Final = 0xFFFF_FFFF
SNAPPED: Final = 60 + 60 + 544
"""Bytes given of a segment of which the beginning is enough: IP and TCP headers with all options, an error's text."""

_IPV4: Final = 0x0800  # linux/if_ether.h
_IPV6: Final = 0x86DD
_LOOPBACK: Final = 772  # ARPHRD_LOOPBACK, linux/if_arp.h
_OTHER_HOST: Final = 3  # PACKET_OTHERHOST, linux/if_packet.h
_OUTGOING: Final = 4  # PACKET_OUTGOING
_TCP: Final = 6
_UDP: Final = 17
_VXLAN_PORT: Final = 4789  # RFC 7348
_TUNNEL_PROTOCOLS: Final = {"gre": (47,), "ipip": (4, 41)}
_HOP_BY_HOP, _ROUTING, _DESTINATION = 0, 43, 60  # RFC 8200, section 4
_IPV6_HEADER: Final = 40
_FIN_SYN_RST: Final = 0x07
_END: Final = 0  # memory cell: where the IP packet ends; connection.py has the next ones

GREETING_VERSIONS: Final = (10, 9, 0xFF)
"""First byte of a server's greeting: protocol versions 10 and 9, or an error instead of one."""
LAST_ANSWER_SEQUENCE: Final = 8
"""The highest sequence id an answer that still opens one is taken to have."""
_PREPARE_OK_HEADER: Final = 0x0C00_0001  # COM_STMT_PREPARE_OK: 12 bytes long, sequence id 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What is to be captured."""

    ports: tuple[int, ...]
    """TCP ports of the servers, at least one."""
    responses: str = "first"
    """"none": of what servers send only greetings and answers to PREPARE; "first": all that begins like an answer;
    "timing": the beginning of every segment; "all": everything."""
    interfaces: tuple[int, ...] = ()
    """Indexes of the interfaces to look at; empty: all that the socket is bound to."""
    left_out: tuple[int, ...] = ()
    """Indexes of interfaces not to look at, as others show their packets too."""
    tunnels: tuple[str, ...] = ()
    """Of "vxlan", "gre" and "ipip" those whose packets all pass whole, as what is inside cannot be told here."""
    keep: float = 1.0
    """Which share of the connections passes, each with both directions whole; above 0. Tunnels all pass."""
    local: bool = False
    """The servers run in this network namespace: requests come in and answers go out. A host's own connections to
    servers elsewhere are left out then, and of the copies of a packet that VLANs and bridges show, those that are not
    for the host itself."""


def drop_all() -> tuple[Instruction, ...]:
    """Nothing passes: for a socket that is being set up or shut."""
    assembler = Assembler()
    assembler.give(0)
    return assembler.program()


def build(selection: Selection) -> tuple[Instruction, ...]:
    """The program for *selection*.

    Passed are, both ways, segments with SYN, FIN or RST; to a server, segments with payload; from one, what
    Selection.responses says. An IP length of 0 (BIG TCP) counts as payload. Fragments other than the first do not pass,
    nor does IPv6 with more than one extension header, with a fragment header or an authentication header. On the
    loopback interface the copy of a packet on its way out is dropped: its way in shows it again.
    """
    if not selection.ports:
        raise ValueError("a filter needs at least one port")
    assembler = Assembler()
    _network(assembler, selection)
    assembler.label("transport")  # X: where the TCP header begins
    assembler.load_half_from_x(2)
    for port in selection.ports:
        assembler.jump_equal(port, yes="to server")
    assembler.load_half_from_x(0)
    for port in selection.ports:
        assembler.jump_equal(port, yes="from server")
    assembler.give(0)
    _to_server(assembler, selection)
    if selection.tunnels:
        _in_tunnel(assembler, selection)
    _from_server(assembler, selection)
    assembler.label("pass")
    assembler.give(WHOLE)
    if selection.responses == "timing":
        assembler.label("pass beginning")
        assembler.give(SNAPPED)
    assembler.label("drop")
    assembler.give(0)
    return assembler.program()


def _network(assembler: Assembler, selection: Selection) -> None:
    assembler.load_half(bpf.PROTOCOL)
    assembler.jump_equal(_IPV4, yes="IPv4")
    assembler.jump_equal(_IPV6, yes="IPv6")
    assembler.give(0)
    _ipv4(assembler, selection)
    _ipv6(assembler, selection)


def _ipv4(assembler: Assembler, selection: Selection) -> None:
    assembler.label("IPv4")
    if selection.keep < 1:
        connection.add_addresses(assembler, 12, 16)
    assembler.load_byte(9)
    _tunnel_protocols(assembler, selection, "IPv4 UDP")
    assembler.jump_equal(_TCP, no="drop")
    assembler.load_half(6)
    assembler.jump_any_bit(0x1FFF, yes="drop")  # fragment offset
    assembler.load_half(2)
    assembler.jump_equal(0, no="IPv4 end")
    assembler.load_length()
    assembler.label("IPv4 end")
    assembler.keep(_END)
    assembler.load_byte(0)
    assembler.keep_bits(0x0F)
    assembler.shift_left(2)
    assembler.copy_to_x()
    assembler.jump("transport")
    if "vxlan" in selection.tunnels:
        assembler.label("IPv4 UDP")
        assembler.load_half(6)
        assembler.jump_any_bit(0x1FFF, yes="drop")
        assembler.load_byte(0)
        assembler.keep_bits(0x0F)
        assembler.shift_left(2)
        assembler.copy_to_x()
        assembler.jump("UDP")


def _tunnel_protocols(assembler: Assembler, selection: Selection, udp: str) -> None:
    for name, protocols in _TUNNEL_PROTOCOLS.items():
        if name in selection.tunnels:
            for protocol in protocols:
                assembler.jump_equal(protocol, yes="tunnel")
    if "vxlan" in selection.tunnels:
        assembler.jump_equal(_UDP, yes=udp)


def _in_tunnel(assembler: Assembler, selection: Selection) -> None:
    if "vxlan" in selection.tunnels:
        assembler.label("UDP")  # X: where its header begins
        assembler.load_half_from_x(2)
        assembler.jump_equal(_VXLAN_PORT, no="drop")
    assembler.label("tunnel")
    _interfaces(assembler, selection, "tunnel, interface")
    _one_copy_on_loopback(assembler, "tunnel, one copy")
    assembler.jump("pass")


def _ipv6(assembler: Assembler, selection: Selection) -> None:
    assembler.label("IPv6")
    if selection.keep < 1:
        connection.add_addresses(assembler, 20, 36)
    assembler.load_half(4)
    assembler.jump_equal(0, yes="IPv6 jumbo")
    assembler.add(_IPV6_HEADER)
    assembler.jump("IPv6 end")
    assembler.label("IPv6 jumbo")
    assembler.load_length()
    assembler.label("IPv6 end")
    assembler.keep(_END)
    assembler.set_x(_IPV6_HEADER)
    assembler.load_byte(6)
    assembler.jump_equal(_TCP, yes="transport")
    _tunnel_protocols(assembler, selection, "UDP")
    for header in (_HOP_BY_HOP, _ROUTING, _DESTINATION):
        assembler.jump_equal(header, yes="IPv6 extension")
    assembler.give(0)
    assembler.label("IPv6 extension")
    assembler.load_byte(_IPV6_HEADER)
    assembler.jump_equal(_TCP, no="drop")
    assembler.load_byte(_IPV6_HEADER + 1)  # its length in 8 bytes, less one
    assembler.shift_left(3)
    assembler.add(_IPV6_HEADER + 8)
    assembler.copy_to_x()


def _to_server(assembler: Assembler, selection: Selection) -> None:
    assembler.label("to server")
    if selection.keep < 1:
        connection.keep(assembler, selection.keep, "drop")
    _interfaces(assembler, selection, "to server, interface")
    if selection.local:
        assembler.load_half(bpf.PACKET_TYPE)
        assembler.jump_equal(_OUTGOING, yes="drop")
        assembler.jump_equal(_OTHER_HOST, yes="drop")
        _untagged(assembler, selection, "to server, untagged")
    else:
        _one_copy_on_loopback(assembler, "to server, one copy")
    _control_or_payload(assembler)
    assembler.jump("pass")


def _from_server(assembler: Assembler, selection: Selection) -> None:
    assembler.label("from server")
    if selection.keep < 1:
        connection.keep(assembler, selection.keep, "drop")
    _interfaces(assembler, selection, "from server, interface")
    if selection.local:
        _on_its_way_out(assembler)
        _untagged(assembler, selection, "from server, untagged")
    else:
        _one_copy_on_loopback(assembler, "from server, one copy")
    _control_or_payload(assembler)
    if selection.responses == "none":
        _greeting_or_prepare_ok(assembler)
    elif selection.responses == "first":
        _begins_like_an_answer(assembler)
    elif selection.responses == "timing":
        assembler.jump("pass beginning")
    else:
        assembler.jump("pass")


def _interfaces(assembler: Assembler, selection: Selection, chosen: str) -> None:
    if selection.interfaces or selection.left_out:
        assembler.load_word(bpf.INTERFACE)
    for index in selection.left_out:
        assembler.jump_equal(index, yes="drop")
    if selection.interfaces:
        for index in selection.interfaces:
            assembler.jump_equal(index, yes=chosen)
        assembler.give(0)
        assembler.label(chosen)


def _one_copy_on_loopback(assembler: Assembler, done: str) -> None:
    assembler.load_half(bpf.PACKET_TYPE)
    assembler.jump_equal(_OUTGOING, no=done)
    assembler.load_half(bpf.HARDWARE_TYPE)
    assembler.jump_equal(_LOOPBACK, yes="drop")
    assembler.label(done)


def _on_its_way_out(assembler: Assembler) -> None:
    assembler.load_half(bpf.HARDWARE_TYPE)
    assembler.jump_equal(_LOOPBACK, yes="answer over loopback")
    assembler.load_half(bpf.PACKET_TYPE)
    assembler.jump_equal(_OUTGOING, yes="answer, one copy", no="drop")
    assembler.label("answer over loopback")
    assembler.load_half(bpf.PACKET_TYPE)
    assembler.jump_equal(_OUTGOING, yes="drop")
    assembler.label("answer, one copy")


def _untagged(assembler: Assembler, selection: Selection, done: str) -> None:
    # What is for the host shows on the VLAN's own interface as well; a priority tag (VLAN 0) has none of its own.
    if selection.interfaces:
        return
    assembler.load_half(bpf.VLAN_TAG_PRESENT)
    assembler.jump_equal(0, yes=done)
    assembler.load_half(bpf.VLAN_TAG)
    assembler.jump_any_bit(0x0FFF, yes="drop")
    assembler.label(done)


def _control_or_payload(assembler: Assembler) -> None:
    """Goes on only with payload, whose offset is then in X."""
    assembler.load_byte_from_x(13)
    assembler.jump_any_bit(_FIN_SYN_RST, yes="pass")
    assembler.load_byte_from_x(12)
    assembler.keep_bits(0xF0)
    assembler.shift_right(2)  # the header's length in words, from the upper half of the byte
    assembler.add_x()
    assembler.copy_to_x()
    assembler.load_kept(_END)
    assembler.jump_greater_x(no="drop")


def _begins_like_an_answer(assembler: Assembler) -> None:
    assembler.load_byte_from_x(2)
    assembler.jump_equal(0, no="drop")
    assembler.load_byte_from_x(3)
    assembler.jump_greater(LAST_ANSWER_SEQUENCE, yes="drop")


def _greeting_or_prepare_ok(assembler: Assembler) -> None:
    assembler.load_word_from_x(0)
    assembler.jump_equal(_PREPARE_OK_HEADER, yes="prepare ok")
    assembler.keep_bits(0xFFFF)
    assembler.jump_equal(0, no="drop")  # less than 64 KiB, sequence id 0
    assembler.load_byte_from_x(4)
    for version in GREETING_VERSIONS:
        assembler.jump_equal(version, yes="pass")
    assembler.give(0)
    assembler.label("prepare ok")
    assembler.load_byte_from_x(4)
    assembler.jump_equal(0, no="drop")
