"""A number for each connection, the same for both of its directions, reckoned in the kernel by classic BPF.

It comes from sums of both addresses and both ports, which are what they are whoever sends. Ports as they are would be
no good: a client's go up in steps of two, and many clients may use the same. Where there are none to read (another
protocol than TCP, a fragment), the addresses alone decide.
"""

from __future__ import annotations

from typing import Final

from collector.capture import bpf
from collector.capture.bpf import Assembler, Instruction

SPREAD: Final = 0x9E37_79B1
KEEP: Final = 0x85EB_CA6B
"""Odd numbers by which the sum is multiplied. Two, so that the connections that are kept are spread like all others."""

_IPV4: Final = 0x0800  # linux/if_ether.h
_IPV6: Final = 0x86DD
_OUTGOING: Final = 4  # PACKET_OUTGOING, linux/if_packet.h
_TCP: Final = 6
_FRAGMENT: Final = 0x3FFF  # more fragments, and the offset
_EXTENSIONS: Final = (0, 43, 60)  # hop-by-hop, routing, destination options
_IPV6_HEADER: Final = 40
_SUM: Final = 1  # memory cells; 0 is the filter's
_TRANSPORT: Final = 2


def spread() -> tuple[Instruction, ...]:
    """For PACKET_FANOUT_CBPF: the number of a packet's connection, of which the kernel takes the rest.

    A packet on its way out begins with its link's header there, unlike one that comes in; its IP header, which is never
    far from it in memory, is then read by its place. What comes in may be scattered, and is read from its beginning.
    """
    assembler = Assembler()
    assembler.load_half(bpf.PACKET_TYPE)
    assembler.jump_equal(_OUTGOING, no="in")
    _number(assembler, bpf.NETWORK, "out")
    assembler.label("in")
    _number(assembler, 0, "in")
    return assembler.program()


def keep(assembler: Assembler, share: float, drop: str) -> None:
    """Go on with a share of the connections: those with the lowest numbers, so that a smaller is part of a larger.

    The sum must have both addresses, X be where the ports are; X stays.
    """
    add_ports(assembler, 0)
    assembler.load_kept(_SUM)
    assembler.multiply(KEEP)
    assembler.shift_right(16)
    assembler.jump_greater(highest_kept(share), yes=drop)


def highest_kept(share: float) -> int:
    """The highest number of a connection that is kept."""
    return max(round(share * 65536), 1) - 1


def number(total: int) -> int:
    """The number of a connection by which keep() goes: *total* is the sum of the ends' last words and their ports."""
    return (total * KEEP & 0xFFFF_FFFF) >> 16


def _number(assembler: Assembler, base: int, name: str) -> None:
    assembler.load_half(bpf.PROTOCOL)
    assembler.jump_equal(_IPV4, yes=f"{name}, IPv4")
    assembler.jump_equal(_IPV6, yes=f"{name}, IPv6")
    assembler.give(0)
    assembler.label(f"{name}, IPv4")
    add_addresses(assembler, base + 12, base + 16)
    assembler.load_byte(base + 9)
    assembler.jump_equal(_TCP, no=f"{name}, addresses")
    assembler.load_half(base + 6)
    assembler.jump_any_bit(_FRAGMENT, yes=f"{name}, addresses")
    assembler.load_byte(base)
    assembler.keep_bits(0x0F)
    assembler.shift_left(2)
    assembler.copy_to_x()
    assembler.jump(f"{name}, ports")
    assembler.label(f"{name}, IPv6")
    add_addresses(assembler, base + 20, base + 36)
    assembler.set_x(_IPV6_HEADER)
    assembler.load_byte(base + 6)
    assembler.jump_equal(_TCP, yes=f"{name}, ports")
    for header in _EXTENSIONS:
        assembler.jump_equal(header, yes=f"{name}, extension")
    assembler.jump(f"{name}, addresses")
    assembler.label(f"{name}, extension")
    assembler.load_byte(base + _IPV6_HEADER)
    assembler.jump_equal(_TCP, no=f"{name}, addresses")
    assembler.load_byte(base + _IPV6_HEADER + 1)
    assembler.shift_left(3)
    assembler.add(_IPV6_HEADER + 8)
    assembler.copy_to_x()
    assembler.label(f"{name}, ports")
    add_ports(assembler, base)
    assembler.label(f"{name}, addresses")
    assembler.load_kept(_SUM)
    assembler.multiply(SPREAD)
    assembler.shift_right(20)
    assembler.give_a()


def add_addresses(assembler: Assembler, one: int, other: int) -> None:
    """Begin the sum with two words of the packet: an IPv6 address counts with its last, in which hosts differ."""
    assembler.load_word(one)
    assembler.copy_to_x()
    assembler.load_word(other)
    assembler.add_x()
    assembler.keep(_SUM)


def add_ports(assembler: Assembler, base: int) -> None:
    """Add both ports, at X + *base*, to the sum; X stays."""
    for at in (base, base + 2):
        assembler.load_half_from_x(at)
        assembler.keep_x(_TRANSPORT)
        assembler.load_kept_to_x(_SUM)
        assembler.add_x()
        assembler.keep(_SUM)
        assembler.load_kept_to_x(_TRANSPORT)
