# SPDX-License-Identifier: MIT
"""The longest way through small RISC-V functions in assembly, counted by a person; what has none is refused with the place."""

from __future__ import annotations

from pathlib import Path

import pytest

from aidge_build.prove.elf import Image, read_image
from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.longest.calls import GIVEN, Calls
from tests.programs import build, needs_riscv

pytestmark = needs_riscv
LIMIT = 2_000
ANY = None

# Each function by its name: its assembly, its arguments, and the instructions of its longest way or a part of the reason why
# there is none.
FUNCTIONS: dict[str, tuple[str, tuple[int | None, ...], int | str]] = {
    "straight": ("addi a0, a0, 1; slli a0, a0, 2; ret", (ANY,), 3),
    "counted": ("1: addi a0, a0, -1; bnez a0, 1b; ret", (7,), 2 * 7 + 1),
    "counted_by_data": (
        "1: addi a0, a0, -1; bnez a0, 1b; ret",
        (ANY,),
        "how often the loop at counted_by_data repeats depends on data",
    ),
    "counted_from_memory": ("lbu a0, 0(a0); 1: addi a0, a0, -1; bnez a0, 1b; ret", (GIVEN[0],), "repeats depends on data"),
    "changed_by_data": (
        "li a2, 7; lbu a1, 0(a0); beqz a1, 1f; addi a2, a2, 1; 1: addi a2, a2, -1; bnez a2, 1b; ret",
        (GIVEN[0],),
        "repeats depends on data",
    ),
    "longer_way": ("beqz a0, 1f; nop; nop; nop; j 2f; 1: nop; 2: ret", (ANY,), 1 + 4 + 1),
    "known_way": ("beqz a0, 1f; nop; nop; nop; j 2f; 1: nop; 2: ret", (0,), 1 + 1 + 1),
    "ways_with_stores": ("beqz a0, 1f; sw a0, 0(a1); nop; j 2f; 1: sw a2, 0(a1); 2: ret", (ANY, GIVEN[0]), 1 + 3 + 1),
    "stores_perhaps": (
        "li a2, 3; sw a2, 0(a1); beqz a0, 1f; li a2, 9; sw a2, 0(a1); 1: lw a2, 0(a1); 2: addi a2, a2, -1; bnez a2, 2b; ret",
        (ANY, GIVEN[0]),
        "repeats depends on data",
    ),
    "chooses": ("beqz a0, 1f; li a2, 4; nop; j 2f; 1: li a2, 3; 2: ret", (ANY,), 1 + 3 + 1),
    "counts_what_it_chose": (
        "beqz a0, 1f; li a2, 4; j 2f; 1: li a2, 3; 2: addi a2, a2, -1; bnez a2, 2b; ret",
        (ANY,),
        "repeats depends on data",
    ),
    "counts_what_both_chose": (
        "beqz a0, 1f; li a2, 3; j 2f; 1: li a2, 3; 2: addi a2, a2, -1; bnez a2, 2b; ret",
        (ANY,),
        3 + 6 + 1,
    ),
    "ends_early": ("li a2, 5; 1: lbu a1, 0(a0); beqz a1, 2f; addi a2, a2, -1; bnez a2, 1b; 2: ret", (GIVEN[0],), 1 + 5 * 4 + 1),
    "callee": ("addi a0, a0, 1; ret", (ANY,), 2),
    "calls": ("addi sp, sp, -16; sw ra, 12(sp); call callee; lw ra, 12(sp); addi sp, sp, 16; ret", (ANY,), 6 + 2),
    "calls_far": ("mv t0, ra; la t1, callee; jalr t1; jr t0", (ANY,), 4 + 1 + 2),
    "tail": ("addi a0, a0, 1; tail callee", (ANY,), 2 + 2),
    "saves": ("addi sp, sp, -16; sw ra, 12(sp); sw s0, 8(sp); jr t0", (), "a jump to an address that is not known"),
    "restores": ("lw s0, 8(sp); lw ra, 12(sp); addi sp, sp, 16; ret", (), "a jump to an address that is not known"),
    "saved_by_another": ("jal t0, saves; addi sp, sp, -32; call callee; addi sp, sp, 32; j restores", (ANY,), 5 + 4 + 2 + 4),
    # No store at an unknown place of the stack reaches what a function saves for its caller.
    "writes_an_array": (
        "addi sp, sp, -48; sw ra, 44(sp); sw s0, 40(sp); andi a0, a0, 15; add a1, sp, a0; sb zero, 0(a1); li s0, 3; "
        "1: addi s0, s0, -1; bnez s0, 1b; lw s0, 40(sp); lw ra, 44(sp); addi sp, sp, 48; ret",
        (ANY,),
        7 + 3 * 2 + 4,
    ),
    "writes_a_count": (
        "addi sp, sp, -48; li s0, 3; sw s0, 40(sp); andi a0, a0, 15; add a1, sp, a0; sb zero, 0(a1); lw s0, 40(sp); "
        "1: addi s0, s0, -1; bnez s0, 1b; addi sp, sp, 48; ret",
        (ANY,),
        "repeats depends on data",
    ),
    "narrow_pieces": (
        "li a2, 0x8003; sh a2, 0(a0); lbu a1, 0(a0); 1: addi a1, a1, -1; bnez a1, 1b; ret",
        (GIVEN[0],),
        4 + 3 * 2 + 1,
    ),
    "signed_pieces": (
        "li a2, 0x80FD; sh a2, 0(a0); lb a1, 0(a0); 1: addi a1, a1, 1; bnez a1, 1b; ret",
        (GIVEN[0],),
        4 + 3 * 2 + 1,
    ),
    "shifts_out": ("1: srli a0, a0, 1; bnez a0, 1b; ret", (ANY,), 32 * 2 + 1),
    "normalizes": ("1: slli a0, a0, 1; bgez a0, 1b; ret", (ANY,), 31 * 2 + 1),
    "normalizes_with_a_call": (
        "mv t0, ra; 1: slli a0, a0, 1; call callee; bgez a0, 1b; jr t0",
        (ANY,),
        "repeats depends on data",
    ),
    "normalizes_sometimes": ("1: beqz a1, 2f; slli a0, a0, 1; 2: bgez a0, 1b; ret", (ANY, ANY), "repeats depends on data"),
    "shifts_by_data": ("1: srl a0, a0, a1; bnez a0, 1b; ret", (ANY, ANY), "repeats depends on data"),
    "shifts_and_asks_seldom": (
        "1: beqz a1, 2f; beqz a0, 3f; 2: srli a0, a0, 1; lbu a2, 0(a3); bnez a2, 1b; 3: ret",
        (ANY, ANY, ANY, GIVEN[0]),
        "repeats depends on data",
    ),
    "shifts_with_a_call": ("mv t0, ra; 1: srli a1, a1, 1; call callee; bnez a1, 1b; jr t0", (ANY, ANY), 1 + 32 * (3 + 2) + 1),
    "in_a_table": (
        "slli a0, a0, 2; la t1, 9f; add t1, t1, a0; lw t1, 0(t1); jr t1; 1: ret; 2: nop; nop; ret; "
        ".p2align 2; 9: .word 1b; .word 2b",
        (1,),
        6 + 3,
    ),
    "in_a_table_by_data": (
        "slli a0, a0, 2; la t1, 9f; add t1, t1, a0; lw t1, 0(t1); jr t1; 1: ret; .p2align 2; 9: .word 1b",
        (ANY,),
        "a jump to an address that is not known",
    ),
    "constant": ("la a1, three; lw a1, 0(a1); 1: addi a1, a1, -1; bnez a1, 1b; ret", (), 3 + 3 * 2 + 1),
    "atomic": (
        "li a2, 3; sw a2, 0(a0); amoadd.w a1, a2, (a0); lw a1, 0(a0); 1: addi a1, a1, -1; bnez a1, 1b; ret",
        (GIVEN[0],),
        "data",
    ),
    "zero_stays": ("li a1, 5; add zero, a1, a1; bnez zero, 1f; ret; 1: nop; ret", (), 4),
    "supervisor": ("ecall; ret", (), "'ecall' at 0x"),
    "unknown": (".insn r 0x0b, 0, 0, a0, a0, a0; ret", (), "an instruction of an extension that is not read at 0x"),
    "trap": ("beqz a0, 1f; unimp; 1: ret", (0,), 2),
    "trap_by_data": ("beqz a0, 1f; unimp; 1: ret", (ANY,), "is not followed"),
}
# How often each of these calls a function: where the linker relaxes nothing, a call is two instructions.
CALLS = {"calls": 1, "tail": 1, "saved_by_another": 1, "shifts_with_a_call": 32}
TEXT = "".join(
    f".globl {name}\n.type {name}, @function\n{name}: {text.replace('; ', chr(10))}\n.size {name}, . - {name}\n"
    for name, (text, _, _) in FUNCTIONS.items()
)
MAIN = """
extern const int three;
const int three = 3;
void straight(void);
__asm__(".text\\n.option push\\n.option arch, +a\\n%s.option pop");
int main(void) { straight(); return 0; }
"""


def linked(folder: Path, *flags: str) -> Image:
    text = MAIN % TEXT.replace("\n", "\\n")
    return read_image(build("qemu_riscv32", text, folder, flags=("-Wl,--no-gc-sections", *flags)))


def longest(image: Image, name: str) -> int:
    """The instructions of the longest way through a function."""
    calls = Calls(image, {})
    return calls.call(image.symbol(name).address, FUNCTIONS[name][1], calls.memory(), LIMIT).instructions


@pytest.fixture(scope="module")
def relaxed(tmp_path_factory):
    return linked(tmp_path_factory.mktemp("relaxed"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_longest_way_is_what_a_person_counts(relaxed, name):
    expected = FUNCTIONS[name][2]
    if isinstance(expected, str):
        with pytest.raises(Refusal, match=expected):
            longest(relaxed, name)
    else:
        assert longest(relaxed, name) == expected


def test_calls_that_the_linker_does_not_relax_are_followed_as_they_are(tmp_path):
    image = linked(tmp_path, "-mno-relax")
    bounded = {name: expected for name, (_, _, expected) in FUNCTIONS.items() if isinstance(expected, int)}
    assert {name: longest(image, name) for name in bounded} == {name: bounded[name] + CALLS.get(name, 0) for name in bounded}


def test_an_address_by_the_global_pointer_is_known(relaxed, tmp_path):
    at = relaxed.symbol("three").address
    image = linked(tmp_path, f"-Wl,--defsym=__global_pointer$=0x{at:x}")
    assert longest(image, "constant") == longest(relaxed, "constant") - 1
