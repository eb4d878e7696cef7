from __future__ import annotations

from collector.capture import bpf, connection
from collector.capture.bpf import Assembler
from collector.capture.filter import Selection, build
from collector.capture.listing import listing


def test_every_kind_of_instruction_has_its_words() -> None:
    assembler = Assembler()
    assembler.load_half(bpf.PROTOCOL)
    assembler.jump_equal(0x800, no="other")
    assembler.load_byte(bpf.NETWORK + 9)
    assembler.load_word_from_x(4)
    assembler.load_half_from_x(bpf.NETWORK + 2)
    assembler.load_length()
    assembler.keep(1)
    assembler.load_kept(1)
    assembler.keep_x(2)
    assembler.load_kept_to_x(2)
    assembler.set_x(40)
    assembler.copy_to_x()
    assembler.add(1)
    assembler.add_x()
    assembler.multiply(3)
    assembler.keep_bits(15)
    assembler.shift_left(2)
    assembler.shift_right(2)
    assembler.jump_greater_x(no="other")
    assembler.jump_any_bit(7, yes="other")
    assembler.jump("other")
    assembler.label("other")
    assembler.give_a()
    assembler.give(0xFFFF)
    assert [line.partition(": ")[2] for line in listing(assembler.program())] == [
        "ldh proto",
        "jeq #0x800, l02, l21",
        "ldb [net+9]",
        "ld [x + 4]",
        "ldh [x + net+2]",
        "ld #len",
        "st M[1]",
        "ld M[1]",
        "stx M[2]",
        "ldx M[2]",
        "ldx #0x28",
        "tax",
        "add #0x1",
        "add x",
        "mul #0x3",
        "and #0xf",
        "lsh #0x2",
        "rsh #0x2",
        "jgt x, l19, l21",
        "jset #0x7, l21, l20",
        "jmp l21",
        "ret a",
        "ret #0xffff",
    ]


def test_programs_are_listed_whole_with_a_label_each() -> None:
    chosen = Selection(ports=(3306,), responses="none", tunnels=("vxlan", "gre", "ipip"), interfaces=(2,), keep=0.5)
    for program in (build(chosen), connection.spread()):
        lines = list(listing(program))
        assert len(lines) == len(program)
        assert [int(line[1:].partition(":")[0]) for line in lines] == list(range(len(program)))
