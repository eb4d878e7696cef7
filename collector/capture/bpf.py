"""An assembler for classic BPF, as socket filters and seccomp use it: mnemonics and labels in, instructions out.

A program looks at the data it is run on: a packet, or a struct seccomp_data. It is neither attached nor run here.
Opcodes and limits are those of linux/filter.h and linux/bpf_common.h.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple

MOST_INSTRUCTIONS: Final = 4096  # BPF_MAXINSNS
FARTHEST: Final = 255  # jt and jf are u8

# SKF_AD_OFF + SKF_AD_*: loads of what the kernel knows about a packet instead of the packet's bytes
AUXILIARY: Final = 0xFFFF_F000
NETWORK: Final = 0xFFF0_0000
"""SKF_NET_OFF: added to an offset, it counts from the IP header, wherever the packet begins."""
PROTOCOL: Final = AUXILIARY + 0
PACKET_TYPE: Final = AUXILIARY + 4
INTERFACE: Final = AUXILIARY + 8
HARDWARE_TYPE: Final = AUXILIARY + 28
VLAN_TAG: Final = AUXILIARY + 44
VLAN_TAG_PRESENT: Final = AUXILIARY + 48

LD, LDX, ST, STX, ALU, JMP, RET, MISC = range(8)
WORD, HALF, BYTE = 0x00, 0x08, 0x10
IMMEDIATE, ABSOLUTE, INDIRECT, MEMORY, LENGTH = 0x00, 0x20, 0x40, 0x60, 0x80
ADD, MULTIPLY, AND, SHIFT_LEFT, SHIFT_RIGHT = 0x00, 0x20, 0x50, 0x60, 0x70
ALWAYS, EQUAL, GREATER, ANY_BIT = 0x00, 0x10, 0x20, 0x40
CONSTANT, REGISTER_X = 0x00, 0x08
REGISTER_A = 0x10
TO_X = 0x00


class Instruction(NamedTuple):
    """One struct sock_filter."""

    code: int
    if_true: int
    if_false: int
    value: int


@dataclass(slots=True)
class _Step:
    code: int
    value: int = 0
    yes: str | None = None
    no: str | None = None
    far: bool = False

    @property
    def conditional(self) -> bool:
        return self.code & 7 == JMP and self.code & 0xF0 != ALWAYS

    @property
    def size(self) -> int:
        return 3 if self.far else 1


class Assembler:
    """Collects steps and turns them into a program.

    A jump goes to a label that is set later, as the kernel allows no other; where a conditional jump is too far for its
    eight bits it becomes a short one over an unconditional one. A side of a jump left out goes to the next step.
    """

    def __init__(self) -> None:
        self._steps: list[_Step] = []
        self._labels: dict[str, int] = {}

    def label(self, name: str) -> None:
        """Name the next step."""
        if name in self._labels:
            raise ValueError(f"label {name} is set twice")
        self._labels[name] = len(self._steps)

    def load_word(self, at: int) -> None:
        """A = the 4 bytes at an offset of the data."""
        self._add(LD | WORD | ABSOLUTE, at)

    def load_half(self, at: int) -> None:
        """A = the 2 bytes at an offset of the data."""
        self._add(LD | HALF | ABSOLUTE, at)

    def load_byte(self, at: int) -> None:
        """A = the byte at an offset of the data."""
        self._add(LD | BYTE | ABSOLUTE, at)

    def load_word_from_x(self, further: int) -> None:
        """A = the 4 bytes at X + *further*."""
        self._add(LD | WORD | INDIRECT, further)

    def load_half_from_x(self, further: int) -> None:
        """A = the 2 bytes at X + *further*."""
        self._add(LD | HALF | INDIRECT, further)

    def load_byte_from_x(self, further: int) -> None:
        """A = the byte at X + *further*."""
        self._add(LD | BYTE | INDIRECT, further)

    def load_length(self) -> None:
        """A = bytes of the whole data: of a packet, from where the socket's packets start."""
        self._add(LD | WORD | LENGTH)

    def load_kept(self, cell: int) -> None:
        """A = a memory cell."""
        self._add(LD | MEMORY, cell)

    def load_kept_to_x(self, cell: int) -> None:
        """X = a memory cell."""
        self._add(LDX | MEMORY, cell)

    def keep(self, cell: int) -> None:
        """Put A into a memory cell."""
        self._add(ST, cell)

    def keep_x(self, cell: int) -> None:
        """Put X into a memory cell."""
        self._add(STX, cell)

    def set_x(self, value: int) -> None:
        """X = *value*."""
        self._add(LDX | IMMEDIATE, value)

    def copy_to_x(self) -> None:
        """X = A."""
        self._add(MISC | TO_X)

    def add(self, value: int) -> None:
        """A += *value*."""
        self._add(ALU | ADD | CONSTANT, value)

    def add_x(self) -> None:
        """A += X."""
        self._add(ALU | ADD | REGISTER_X)

    def multiply(self, value: int) -> None:
        """A *= *value*, of which 32 bits stay."""
        self._add(ALU | MULTIPLY | CONSTANT, value)

    def keep_bits(self, mask: int) -> None:
        """A &= *mask*."""
        self._add(ALU | AND | CONSTANT, mask)

    def shift_left(self, bits: int) -> None:
        """A <<= *bits*."""
        self._add(ALU | SHIFT_LEFT | CONSTANT, bits)

    def shift_right(self, bits: int) -> None:
        """A >>= *bits*."""
        self._add(ALU | SHIFT_RIGHT | CONSTANT, bits)

    def jump(self, to: str) -> None:
        """Go on at a label."""
        self._steps.append(_Step(JMP | ALWAYS, yes=to))

    def jump_equal(self, value: int, yes: str | None = None, no: str | None = None) -> None:
        """Is A == *value*?"""
        self._steps.append(_Step(JMP | EQUAL | CONSTANT, value, yes, no))

    def jump_greater(self, value: int, yes: str | None = None, no: str | None = None) -> None:
        """Is A > *value* (unsigned)?"""
        self._steps.append(_Step(JMP | GREATER | CONSTANT, value, yes, no))

    def jump_greater_x(self, yes: str | None = None, no: str | None = None) -> None:
        """Is A > X (unsigned)?"""
        self._steps.append(_Step(JMP | GREATER | REGISTER_X, 0, yes, no))

    def jump_any_bit(self, mask: int, yes: str | None = None, no: str | None = None) -> None:
        """Has A any bit of *mask*?"""
        self._steps.append(_Step(JMP | ANY_BIT | CONSTANT, mask, yes, no))

    def give(self, verdict: int) -> None:
        """End: a socket takes so many bytes of the packet, 0 for none; seccomp does with the call what it says."""
        self._add(RET | CONSTANT, verdict)

    def give_a(self) -> None:
        """End: the answer is A."""
        self._add(RET | REGISTER_A)

    def _add(self, code: int, value: int = 0) -> None:
        self._steps.append(_Step(code, value))

    def program(self) -> tuple[Instruction, ...]:
        """The finished program; ValueError when the kernel would refuse it."""
        if not self._steps or self._steps[-1].code & 7 != RET:
            raise ValueError("a program ends with what it gives")
        places = self._places()
        found: list[Instruction] = []
        for number, step in enumerate(self._steps):
            found += self._encode(step, number, places)
        if len(found) > MOST_INSTRUCTIONS:
            raise ValueError(f"{len(found)} instructions, the kernel takes {MOST_INSTRUCTIONS}")
        return tuple(found)

    def _places(self) -> list[int]:
        """Where each step begins, after the jumps that are too far for one instruction have been marked."""
        while True:
            places = [0]
            for step in self._steps:
                places.append(places[-1] + step.size)
            grown = False
            for number, step in enumerate(self._steps):
                if not step.conditional or step.far:
                    continue
                if any(self._distance(to, number, places) > FARTHEST for to in (step.yes, step.no)):
                    step.far = grown = True
            if not grown:
                return places

    def _distance(self, to: str | None, number: int, places: Sequence[int], extra: int = 0) -> int:
        if to is None:
            return places[number + 1] - places[number] - 1 - extra
        if to not in self._labels:
            raise ValueError(f"label {to} is never set")
        target = self._labels[to]
        if target <= number:
            raise ValueError(f"the jump to {to} goes back, classic BPF only goes forward")
        return places[target] - places[number] - 1 - extra

    def _encode(self, step: _Step, number: int, places: Sequence[int]) -> list[Instruction]:
        if step.code & 7 != JMP:
            return [Instruction(step.code, 0, 0, step.value)]
        if not step.conditional:
            return [Instruction(step.code, 0, 0, self._distance(step.yes, number, places))]
        if not step.far:
            yes, no = (self._distance(to, number, places) for to in (step.yes, step.no))
            return [Instruction(step.code, yes, no, step.value)]
        yes, no = (self._distance(to, number, places, extra) for to, extra in ((step.yes, 1), (step.no, 2)))
        always = JMP | ALWAYS
        return [Instruction(step.code, 0, 1, step.value), Instruction(always, 0, 0, yes), Instruction(always, 0, 0, no)]


def pack(program: Sequence[Instruction]) -> bytes:
    """The program as the kernel takes it: an array of struct sock_filter in native byte order."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


@contextmanager
def in_memory(program: Sequence[Instruction]) -> Iterator[bytes]:
    """The program's struct sock_fprog; what it points to is there until the context ends."""
    code = ctypes.create_string_buffer(pack(program))
    yield struct.pack("@HP", len(program), ctypes.addressof(code))  # the pointer is aligned as in C
