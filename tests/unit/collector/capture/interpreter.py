"""Executes classic BPF as linux/filter.h describes it, so that a filter can be tried without a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from collector.capture.bpf import AUXILIARY, NETWORK, Instruction

_U32 = 0xFFFF_FFFF
_SIZES = {0x00: 4, 0x08: 2, 0x10: 1}


class _OutOfPacketError(Exception):
    """A load beyond the packet: the kernel ends the program with 0."""


def run(program: Sequence[Instruction], packet: bytes, auxiliary: Mapping[int, int], network: int = 0) -> int:
    """What the program answers; *auxiliary* holds what SKF_AD_* loads see, by offset; the IP header is at *network*."""
    accumulator, index, at = 0, 0, 0
    cells = [0] * 16
    try:
        while True:
            code, if_true, if_false, value = program[at]
            at += 1
            match code & 7:
                case 0:  # LD
                    accumulator = _load(code, value, index, cells, packet, auxiliary, network)
                case 1:  # LDX
                    index = cells[value] if code & 0xE0 == 0x60 else value
                case 2:  # ST
                    cells[value] = accumulator
                case 3:  # STX
                    cells[value] = index
                case 4:  # ALU
                    accumulator = _calculate(code, accumulator, index if code & 8 else value)
                case 5:  # JMP
                    at += _distance(code, accumulator, index if code & 8 else value, value, if_true, if_false)
                case 6:  # RET
                    return accumulator if code & 0x18 == 0x10 else value
                case 7:  # MISC
                    index, accumulator = (index, index) if code & 0xF8 else (accumulator, accumulator)
                case _:
                    raise AssertionError(f"unknown instruction {code:#x}")
    except _OutOfPacketError:
        return 0


def _load(
    code: int,
    value: int,
    index: int,
    cells: Sequence[int],
    packet: bytes,
    auxiliary: Mapping[int, int],
    network: int,
) -> int:
    match code & 0xE0:
        case 0x00:
            return value
        case 0x60:
            return cells[value]
        case 0x80:
            return len(packet)
        case 0x20 if value >= AUXILIARY:
            return auxiliary[value]
        case mode:
            place = value + index & _U32 if mode == 0x40 else value
            if place >= NETWORK:
                place = place - NETWORK + network
            found = packet[place : place + _SIZES[code & 0x18]]
            if len(found) < _SIZES[code & 0x18]:
                raise _OutOfPacketError
            return int.from_bytes(found, "big")


def _calculate(code: int, accumulator: int, operand: int) -> int:
    match code & 0xF0:
        case 0x00:
            return accumulator + operand & _U32
        case 0x20:
            return accumulator * operand & _U32
        case 0x50:
            return accumulator & operand
        case 0x60:
            return accumulator << operand & _U32
        case 0x70:
            return accumulator >> operand
        case operation:
            raise AssertionError(f"unknown operation {operation:#x}")


def _distance(code: int, accumulator: int, operand: int, value: int, if_true: int, if_false: int) -> int:
    match code & 0xF0:
        case 0x00:
            return value
        case 0x10:
            return if_true if accumulator == operand else if_false
        case 0x20:
            return if_true if accumulator > operand else if_false
        case 0x40:
            return if_true if accumulator & operand else if_false
        case condition:
            raise AssertionError(f"unknown condition {condition:#x}")
