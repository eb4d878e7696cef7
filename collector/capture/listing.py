"""A classic BPF program as text for people, in the words of the kernel's bpf_asm (networking/filter.rst)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from collector.capture.bpf import (
    ABSOLUTE,
    ADD,
    ALWAYS,
    AND,
    ANY_BIT,
    BYTE,
    EQUAL,
    GREATER,
    HALF,
    HARDWARE_TYPE,
    IMMEDIATE,
    INDIRECT,
    INTERFACE,
    LDX,
    LENGTH,
    MEMORY,
    MULTIPLY,
    NETWORK,
    PACKET_TYPE,
    PROTOCOL,
    REGISTER_A,
    REGISTER_X,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    STX,
    TO_X,
    VLAN_TAG,
    VLAN_TAG_PRESENT,
    WORD,
    Instruction,
)

_SIZES: Final = {WORD: "", HALF: "h", BYTE: "b"}
_OPERATIONS: Final = {ADD: "add", MULTIPLY: "mul", AND: "and", SHIFT_LEFT: "lsh", SHIFT_RIGHT: "rsh"}
_CONDITIONS: Final = {EQUAL: "jeq", GREATER: "jgt", ANY_BIT: "jset"}
_KNOWN: Final = {
    PROTOCOL: "proto",
    PACKET_TYPE: "type",
    INTERFACE: "ifidx",
    HARDWARE_TYPE: "hatype",
    VLAN_TAG: "vlan_tci",
    VLAN_TAG_PRESENT: "vlan_avail",
}


def listing(program: Sequence[Instruction]) -> Iterator[str]:
    """A line for each instruction, with its label."""
    width = len(str(len(program) - 1))
    for number, instruction in enumerate(program):
        yield f"l{number:0{width}}: {_words(instruction, number, width)}"


def _words(instruction: Instruction, number: int, width: int) -> str:
    code, if_true, if_false, value = instruction
    operand = "x" if code & REGISTER_X else f"#{value:#x}"

    def line(distance: int) -> str:
        return f"l{number + 1 + distance:0{width}}"

    match code & 7:
        case 0 | 1 as kind:
            return f"ld{'x' if kind == LDX else _SIZES[code & 0x18]} {_place(code, value)}"
        case 2 | 3 as kind:
            return f"st{'x' if kind == STX else ''} M[{value}]"
        case 4:
            return f"{_OPERATIONS[code & 0xF0]} {operand}"
        case 5 if code & 0xF0 == ALWAYS:
            return f"jmp {line(value)}"
        case 5:
            return f"{_CONDITIONS[code & 0xF0]} {operand}, {line(if_true)}, {line(if_false)}"
        case 6:
            return "ret a" if code & 0x18 == REGISTER_A else f"ret #{value:#x}"
        case _:
            return "tax" if code & 0xF8 == TO_X else "txa"


def _place(code: int, value: int) -> str:
    mode = code & 0xE0
    if mode == IMMEDIATE:
        return f"#{value:#x}"
    if mode == MEMORY:
        return f"M[{value}]"
    if mode == LENGTH:
        return "#len"
    if value in _KNOWN and mode == ABSOLUTE:
        return _KNOWN[value]
    at = f"net+{value - NETWORK}" if value >= NETWORK else str(value)
    return f"[x + {at}]" if mode == INDIRECT else f"[{at}]"
