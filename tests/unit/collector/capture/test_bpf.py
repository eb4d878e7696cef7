from __future__ import annotations

import pytest

from collector.capture import bpf
from collector.capture.bpf import Assembler, Instruction
from tests.unit.collector.capture.interpreter import run


def test_steps_become_the_instructions_of_the_kernels_header() -> None:
    assembler = Assembler()
    assembler.load_half(bpf.PROTOCOL)
    assembler.jump_equal(0x0800, no="other")
    assembler.give(0xFFFF)
    assembler.label("other")
    assembler.give(0)
    assert assembler.program() == (
        Instruction(0x28, 0, 0, 0xFFFFF000),  # BPF_LD | BPF_H | BPF_ABS, SKF_AD_OFF + SKF_AD_PROTOCOL
        Instruction(0x15, 0, 1, 0x0800),  # BPF_JMP | BPF_JEQ | BPF_K
        Instruction(0x06, 0, 0, 0xFFFF),  # BPF_RET | BPF_K
        Instruction(0x06, 0, 0, 0),
    )


@pytest.mark.parametrize("between", [0, 1, 253, 254, 255, 256, 257, 600])
def test_a_conditional_jump_reaches_its_label_however_far_it_is(between: int) -> None:
    for value, given in ((7, 1), (8, 2)):
        assembler = Assembler()
        assembler.load_byte(0)
        assembler.jump_equal(7, yes="seven", no="other")
        for _ in range(between):
            assembler.add(1)
        assembler.label("other")
        assembler.give(2)
        assembler.label("seven")
        assembler.give(1)
        program = assembler.program()
        assert run(program, bytes([value]), {}) == given
        assert all(step.if_true <= bpf.FARTHEST and step.if_false <= bpf.FARTHEST for step in program)


def test_a_far_jump_that_makes_another_one_far_is_lengthened_too() -> None:
    assembler = Assembler()
    assembler.load_byte(0)
    assembler.jump_equal(1, yes="one")  # 255 away until the next one grows
    assembler.jump_equal(2, yes="two")
    for _ in range(254):
        assembler.add(1)
    assembler.label("one")
    assembler.give(1)
    assembler.label("two")
    assembler.give(2)
    program = assembler.program()
    assert [run(program, bytes([value]), {}) for value in (1, 2)] == [1, 2]


def test_a_jump_backwards_is_refused() -> None:
    assembler = Assembler()
    assembler.label("again")
    assembler.load_byte(0)
    assembler.jump_equal(1, yes="again")
    assembler.give(0)
    with pytest.raises(ValueError, match="goes back"):
        assembler.program()


def test_a_label_that_is_never_set_is_refused() -> None:
    assembler = Assembler()
    assembler.jump("nowhere")
    assembler.give(0)
    with pytest.raises(ValueError, match="nowhere is never set"):
        assembler.program()


def test_a_label_set_twice_is_refused() -> None:
    assembler = Assembler()
    assembler.label("here")
    with pytest.raises(ValueError, match="here is set twice"):
        assembler.label("here")


def test_a_program_without_an_end_is_refused() -> None:
    assembler = Assembler()
    assembler.load_byte(0)
    with pytest.raises(ValueError, match="ends with"):
        assembler.program()


def test_a_program_longer_than_the_kernel_takes_is_refused() -> None:
    assembler = Assembler()
    for _ in range(bpf.MOST_INSTRUCTIONS):
        assembler.add(1)
    assembler.give(0)
    with pytest.raises(ValueError, match="4097 instructions"):
        assembler.program()


def test_packed_instructions_have_the_layout_of_struct_sock_filter() -> None:
    packed = bpf.pack([Instruction(0x15, 1, 2, 0x0A0B0C0D)])
    assert packed in {b"\x15\x00\x01\x02\x0d\x0c\x0b\x0a", b"\x00\x15\x01\x02\x0a\x0b\x0c\x0d"}  # by byte order
