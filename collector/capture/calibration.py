"""Measures what a packet costs this host in the kernel, once, when capture starts and has the rights for it.

Packets for documentation go over loopback (see symmetry.py), once without our sockets, then with ones whose filter
drops them, then with ones whose filter lets them pass into a ring. What their sending takes longer is what the sockets
cost: the kernel hands a packet on within the call. Each packet meets them twice, on its way out and in. The quickest of
some rounds counts, as anything else that runs only adds to it. All of it takes about 20 ms.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Sequence
from typing import Final

from collector.capture import bpf, fanout, sockets, symmetry
from collector.capture import filter as packet_filter
from collector.capture.bpf import Assembler, Instruction
from collector.capture.methods import METHODS
from collector.capture.sockets import MethodError, PacketSocket, Shape
from collector.channel import Costs
from collector.config import Config, StartError

_ROUNDS: Final = 7
_PACKETS: Final = 200
"""A round is so short that it is rarely interrupted."""
_TAPS: Final = 2
_SHAPE: Final = Shape(ring_mib=2, block_kib=64, block_timeout_ms=1000)
_LEAST_NS: Final = 20.0
_MOST_NS: Final = 20_000.0
_PORTS: Final = (3306,)

_log = logging.getLogger(__name__)


def calibrated(config: Config) -> Costs | None:
    """What packets cost; None where that cannot be measured here, which the log says."""
    try:
        found = _measure(min(config.workers.count, symmetry.MEMBERS))
    except (OSError, StartError) as error:
        _log.warning("what packets cost the kernel could not be measured over loopback (%s): it is assumed", error)
        return None
    if found is not None:
        _log.info(
            "a packet costs the kernel %d ns where it is captured, %d ns where it is not",
            found.passed_ps // 1000,
            found.other_ps // 1000,
        )
    return found


def judged(without_ns: float, dropping_ns: float, passing_ns: float) -> Costs | None:
    """The costs of a packet by what sending one took at least; None where that makes no sense."""
    other = (dropping_ns - without_ns) / _TAPS
    passed = (passing_ns - without_ns) / _TAPS
    if not (_LEAST_NS <= passed <= _MOST_NS and other <= passed):
        return None
    return Costs(passed_ps=round(1000 * passed), other_ps=round(1000 * max(other, _LEAST_NS)))


def _measure(workers: int) -> Costs | None:
    packet = symmetry.packet(4, symmetry.FIRST_CLIENT_PORT, to_server=True)
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0) as sending:
        without = min(_round(sending, packet) for _ in range(_ROUNDS))
        members = _members(workers)
        try:
            dropping = min(_round(sending, packet) for _ in range(_ROUNDS))
            for member in members:
                member.set_filter(_documentation())
            passing = min(_round(sending, packet) for _ in range(_ROUNDS))
        finally:
            for member in members:
                member.close()
    return judged(without, dropping, passing)


def _members(workers: int) -> Sequence[PacketSocket]:
    """Sockets as capture has them, on loopback."""
    opened: list[PacketSocket] = []
    try:
        loopback = socket.if_nametoindex("lo")
        for _ in range(workers):
            opened.append(_open())
            opened[-1].set_filter(packet_filter.build(packet_filter.Selection(ports=_PORTS, interfaces=(1 << 20,))))
            sockets.bind(opened[-1].fd, loopback)
        if workers > 1:
            fanout.join([one.fd for one in opened], loopback, fanout.HASH)
    except BaseException:
        for one in opened:
            one.close()
        raise
    return opened


def _open() -> PacketSocket:
    for method in METHODS[:-1]:
        try:
            return method.open(_SHAPE)
        except MethodError:
            continue
    return METHODS[-1].open(_SHAPE)


def _round(sending: socket.socket, packet: bytes) -> float:
    """Nanoseconds that sending one packet takes."""
    address = ("lo", symmetry.PROTOCOLS[4], 0, 0, symmetry.NOBODY)
    began = time.perf_counter_ns()
    for _ in range(_PACKETS):
        sending.sendto(packet, address)
    return (time.perf_counter_ns() - began) / _PACKETS


def _documentation() -> tuple[Instruction, ...]:
    """Passes what goes between addresses for documentation, so that nothing of others gets into the ring."""
    assembler = Assembler()
    assembler.load_half(bpf.PROTOCOL)
    assembler.jump_equal(symmetry.PROTOCOLS[4], no="drop")
    for at in (12, 16):
        assembler.load_word(at)
        assembler.keep_bits(0xFFFF_FF00)
        assembler.jump_equal(symmetry.NETWORK, no="drop")
    assembler.give(packet_filter.WHOLE)
    assembler.label("drop")
    assembler.give(0)
    return assembler.program()
