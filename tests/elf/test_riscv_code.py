# SPDX-License-Identifier: MIT
"""The code of a RISC-V program is the code of its objects, whatever the linker relaxed: each seeded fault is found, and nothing
else."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from aidge_build.prove.elf import read_image
from aidge_build.prove.elf.code_places import find_places
from aidge_build.prove.elf.code_proof import CodeProof, check_code
from aidge_build.prove.elf.image import Image
from aidge_build.prove.elf.linked_object import Linked
from aidge_build.prove.elf.objects import ObjectFile, read_names, read_object
from aidge_build.prove.elf.riscv_references import RiscvObject
from tests.elf.compiled_parts import SCRIPT, changed, compile_parts, link_parts, proof_of, run, stored, turned
from tests.programs import needs_riscv

pytestmark = needs_riscv
CORE = "rv32imac"
SECTIONS = ("-ffunction-sections", "-fdata-sections")
HI20, LO12_I = 26, 27


@dataclass(frozen=True)
class Program:
    """A linked program in memory, and the object of its model."""

    image: Image
    names: dict
    model: ObjectFile

    def proof(self) -> CodeProof:
        return check_code(self.image, self.names, [self.model], ())

    def placed(self) -> RiscvObject:
        one = RiscvObject(self.model, Linked(self.image, self.names))
        find_places(one)
        return one

    def at(self, name: str) -> int:
        return self.names[name][0].address

    def place(self, symbol: str, of: str, *kinds: int) -> int:
        """The address of the first reference to a symbol, "" for any, in a function."""
        one = self.placed()
        placements = [one.placements[symbol.part] for symbol in self.model.symbols if symbol.name == of]
        return next(
            placement.address(relocation.offset)
            for placement in placements
            for relocation in placement.part.relocations
            if symbol in ("", self.model.symbols[relocation.symbol].name) and relocation.kind in (kinds or (relocation.kind,))
        )

    def put(self, address: int, content: bytes) -> Program:
        return dataclasses.replace(self, image=changed(self.image, address, content))

    def turned(self, address: int, bits: int, width: int = 4) -> Program:
        word = int.from_bytes(stored(self.image, address, width), "little") ^ bits
        return self.put(address, word.to_bytes(width, "little"))

    def swapped(self, address: int) -> Program:
        """Two words exchanged."""
        content = stored(self.image, address, 8)
        return self.put(address, content[4:] + content[:4])

    def renamed(self, **addresses: int) -> Program:
        moved = {name: tuple(one._replace(value=at) for one in self.names[name]) for name, at in addresses.items()}
        return dataclasses.replace(self, names=self.names | moved)

    def cut(self, address: int) -> Program:
        """The section with the address ends there."""
        sections = tuple(
            dataclasses.replace(one, size_bytes=address - one.address, content=one.content[: address - one.address])
            if one.content and one.holds(address)
            else one
            for one in self.image.sections
        )
        return dataclasses.replace(self, image=dataclasses.replace(self.image, sections=sections))

    def moved(self, address: int, count: int, end: int) -> Program:
        """`count` bytes are taken out, and the code up to `end` moves down."""
        return self.put(address, stored(self.image, address + count, end - address - count) + b"\x01\0" * (count // 2))

    def with_gp(self, distance: int) -> Program:
        (symbol,) = self.image.by_name["__global_pointer$"]
        by_name = {**self.image.by_name, symbol.name: (dataclasses.replace(symbol, address=symbol.address + distance),)}
        return dataclasses.replace(self, image=dataclasses.replace(self.image, by_name=by_name))


def short_jump(distance: int, opcode: int) -> bytes:
    """c.j or c.jal by a distance."""
    fields = ((11, 12), (4, 11), (9, 10), (8, 9), (10, 8), (6, 7), (7, 6), (3, 5), (2, 4), (1, 3), (5, 2))
    return (opcode | sum((distance >> bit & 1) << at for bit, at in fields)).to_bytes(2, "little")


def switch_of(program: Program) -> int:
    """The address of the table of a switch."""
    placements = program.placed().placements.values()
    return next(each.base for each in placements if each.part.name == ".rodata.kws_conv")


def united(program: Program, content: bytes) -> int:
    """The address of a constant that the linker put somewhere."""
    section = program.image.section(".text")
    return section.address + section.content.index(content)


def to(program: Program, symbol: str, of: str, target: str, opcode: int) -> Program:
    place = program.place(symbol, of)
    return program.put(place, short_jump(program.at(target) - place, opcode))


C_JAL, C_J, RVC_BRANCH = 0x2001, 0xA001, 44
# What is changed in the program, and the code of the finding.
FAULTS: dict[str, tuple[str, Callable[[Program], Program]]] = {
    "a number in an instruction": ("COD01", lambda p: p.turned(p.at("kws_tail"), 4, 2)),
    "a register of an instruction": ("COD01", lambda p: p.turned(p.at("kws_tail"), 1 << 7, 2)),
    "an operation": ("COD01", lambda p: p.turned(p.at("kws_tail"), 1 << 14, 2)),
    "the last byte before a tail call": ("COD01", lambda p: p.turned(p.image.symbol("kws_run").end - 3, 1, 1)),
    "a function that returns at once": ("COD01", lambda p: p.put(p.at("kws_run"), b"\x01\x45\x82\x80")),
    "a compressed call of another function": ("COD02", lambda p: to(p, "kws_conv", "kws_run", "kws_tail", C_JAL)),
    "a compressed call that is gone": ("COD01", lambda p: p.put(p.place("kws_conv", "kws_run"), b"\x01\0")),
    "a compressed call that does not come back": ("COD01", lambda p: p.turned(p.place("kws_conv", "kws_run") + 1, 0x80, 1)),
    "a tail call of another function": ("COD02", lambda p: to(p, "other", "kws_tail", "memcpy", C_J)),
    "a tail call that comes back": ("COD01", lambda p: p.turned(p.place("other", "kws_tail") + 1, 0x80, 1)),
    "a far call a word further": ("COD02", lambda p: p.turned(p.place("kws_far", "kws_run") + 4, 4 << 20)),
    "a far call a page further": ("COD02", lambda p: p.turned(p.place("kws_far", "kws_run"), 1 << 12)),
    "a far call through another register": ("COD01", lambda p: p.turned(p.place("kws_far", "kws_run") + 4, 1 << 15)),
    "a call of the code that saves registers, with ra": ("COD01", lambda p: p.turned(p.at("kws_run"), 4 << 7)),
    "a call of the code that saves registers, in its middle": ("COD02", lambda p: p.turned(p.at("kws_run"), 1 << 21)),
    "a call of a function that need not exist": ("COD02", lambda p: p.turned(p.place("hook", "kws_conv") + 4, 4 << 20)),
    "upper bits in a call of a function that need not exist": ("COD01", lambda p: p.turned(p.place("hook", "kws_conv"), 1 << 12)),
    "tp instead of gp": ("COD01", lambda p: p.turned(p.place("kws_arena", "kws_run"), 7 << 15)),
    "zero instead of gp": ("COD02", lambda p: p.turned(p.place("kws_arena", "kws_run"), 3 << 15)),
    "a distance from gp": ("COD02", lambda p: p.turned(p.place("kws_arena", "kws_run"), 1 << 20)),
    "another gp": ("COD02", lambda p: p.with_gp(4)),
    "upper bits of an address": ("COD02", lambda p: p.turned(p.place("kws_fc_weights", "kws_run", HI20), 1 << 12)),
    "lower bits of an address": ("COD02", lambda p: p.turned(p.place("kws_fc_weights", "kws_run", LO12_I), 1 << 20)),
    "upper bits in another register": ("COD01", lambda p: p.turned(p.place("kws_fc_weights", "kws_run", HI20), 1 << 7)),
    "upper bits that are taken out": (
        "COD02",
        lambda p: p.moved(p.place("kws_fc_weights", "kws_run", HI20), 4, p.image.symbol("kws_run").end),
    ),
    "an inverted condition": ("COD01", lambda p: p.turned(p.place("", "kws_run", RVC_BRANCH) + 1, 0x20, 1)),
    "a branch to another place": ("COD02", lambda p: p.turned(p.place("", "kws_run", RVC_BRANCH), 8, 2)),
    "entries of a switch": ("COD02", lambda p: p.swapped(switch_of(p))),
    "entries of a table of functions": ("COD02", lambda p: p.swapped(p.at("kws_table"))),
    "a pointer to a string": ("COD02", lambda p: p.turned(p.at("kws_names"), 1)),
    "a constant that linkers unite": ("COD02", lambda p: p.put(united(p, b"\x00\x00\x60\x40"), b"\x00\x00\x70\x40")),
    "a constant": ("COD01", lambda p: p.turned(p.at("kws_scales") + 4, 1)),
    "a weight": ("COD01", lambda p: p.turned(p.at("kws_fc_weights") + 63, 1, 1)),
    "stored code of a function in RAM": ("COD01", lambda p: p.turned(p.at("kws_far"), 1 << 7, 2)),
    "the beginning of another function": ("COD01", lambda p: p.put(p.at("kws_tail"), stored(p.image, p.at("memcpy"), 4))),
    "functions that exchanged their names": ("COD01", lambda p: p.renamed(kws_run=p.at("kws_tail"), kws_tail=p.at("kws_run"))),
    "a function that is called by another name": ("COD02", lambda p: p.renamed(memcpy=p.at("other"))),
    "code that is cut off": ("COD01", lambda p: p.cut(p.at("kws_run") + 8)),
}


@pytest.fixture(scope="module")
def objects(tmp_path_factory) -> list[Path]:
    return compile_parts(tmp_path_factory.mktemp("near"), CORE, "-Os", "-msave-restore", *SECTIONS)


@pytest.fixture(scope="module")
def program(objects) -> Program:
    elf = link_parts(objects[0].parent, objects, cpu=CORE)
    return Program(read_image(elf), read_names(elf), read_object(objects[0]))


@pytest.mark.parametrize("name", FAULTS)
def test_a_seeded_fault_is_found(program, name):
    code, change = FAULTS[name]
    findings = change(program).proof().findings
    assert code in {finding.code for finding in findings} and {finding.severity for finding in findings} == {"error"}


def test_nothing_is_found_before_and_a_fault_is_named_by_its_place(program):
    whole = program.proof()
    assert (whole.findings, whole.not_compared, whole.functions, whole.constants) == ((), (), 4, 4)
    place = program.place("kws_conv", "kws_run")
    (finding,) = FAULTS["a compressed call of another function"][1](program).proof().findings
    said = f"kws_run+0x{place - program.at('kws_run'):x} (0x{place:08x}) leads to kws_tail; kws.o says kws_conv"
    assert finding.text == said
    (finding,) = program.turned(program.at("kws_tail"), 1 << 7, 2).proof().findings
    place = program.at("kws_tail")
    assert finding.text == f"kws_tail differs in 1 B, first at kws_tail+0x0 (0x{place:08x}): it is not what kws.o holds"


def test_a_bit_that_is_turned_over_is_found(program):
    """One bit of every third byte."""
    for placement in program.placed().placements.values():
        for at in range(0, placement.size_bytes if placement.part.content else 0, 3):
            found = dataclasses.replace(program, image=turned(program.image, placement.base + at, at % 8)).proof()
            assert found.findings, (placement.part.name, at)


@pytest.mark.parametrize("options", [("-Wl,--no-relax",), ("-Wl,--gc-sections", "-Wl,-x")], ids="".join)
def test_an_honest_link_is_accepted(objects, tmp_path, options):
    proof = proof_of(link_parts(tmp_path, objects, *options, cpu=CORE), *objects)
    assert (proof.findings, proof.not_compared, proof.constants) == ((), (), 5)


@pytest.mark.parametrize(
    "flags, options",
    [
        (("-O2", "-mcmodel=medany"), ()),
        (("-O1", "-fno-toplevel-reorder"), ("-Wl,-x",)),
        (("-O0", "-mno-relax"), ()),
        (("-Os", "-fPIC"), ()),
    ],
    ids=lambda words: "".join(words),
)
def test_an_honest_build_is_accepted(tmp_path, flags, options):
    """Without a section for each function and without local symbols, the begin of a part is searched."""
    objects = compile_parts(tmp_path, CORE, *flags)
    proof = proof_of(link_parts(tmp_path, objects, *options, cpu=CORE), *objects)
    assert (proof.findings, proof.not_compared, proof.functions, proof.constants) == ((), (), 8, 5)


# Every relocation that the compiler and the assembler write, and each form that the linker makes of it: relaxed and not.
EVERY_FIELD = """
    .section .text.fields, "ax", @progbits
    .globl fields
    .type fields, @function
fields:
    .option norelax
    call near
    tail near
    la a0, number
    lw a1, number
    lui a2, %hi(far_number)
    lw a3, %lo(far_number)(a2)
    sw a3, %lo(far_number)(a2)
    .option relax
    call near
    tail near
    call absent
    call small
    call t0, near
    jump near, t1
    .balign 16
    la a0, number
    lw a1, number
    sw a1, number, a2
    lui a2, %hi(number)
    sw a3, %lo(number)(a2)
    flw fa0, %lo(number)(a2)
    lui a4, %hi(far_number)
    fsw fa0, %lo(far_number)(a4)
    addi a4, a4, %lo(far_number)
    lui a5, %hi(small)
    lw a5, %lo(small)(a5)
    lui t1, %hi(page)
    addi t1, t1, %lo(page)
1:  lui t2, %tprel_hi(of_thread)
    add t2, t2, tp, %tprel_add(of_thread)
    sw t1, %tprel_lo(of_thread)(t2)
    .option norelax
2:  lui t2, %tprel_hi(of_thread)
    add t2, t2, tp, %tprel_add(of_thread)
    lw t1, %tprel_lo(of_thread)(t2)
    .option relax
    .option pic
    la a0, number
    lw a1, absent
    .option nopic
    .balign 8
    beqz a0, 3f
    beq a0, a1, 3f
    j 3f
    .option norvc
    j 3f
    .option rvc
3:  ret
    .size fields, . - fields
    .section .rodata.sums, "a"
    .globl sums
    .type sums, @object
sums: .word 3b - 1b, 3b - 2b + 8, number, number + 4, near - .
    .reloc ., R_RISCV_32_PCREL, near
    .word 0
    .reloc ., R_RISCV_ADD32, number
    .reloc ., R_RISCV_SUB32, near
    .word 5
    .half 3b - 1b
    .byte 3b - 1b
    .reloc ., R_RISCV_SET8, page
    .byte 0
    .reloc ., R_RISCV_SET16, far_number
    .half 0
    .reloc ., R_RISCV_SET32, number
    .reloc ., R_RISCV_SUB32, near
    .word 0
    .size sums, . - sums
    .section .text.near, "ax", @progbits
    .globl near
    .type near, @function
near: ret
    .size near, . - near
    .weak absent
    .section .sdata, "aw"
    .globl number
number: .word 5
    .section .tbss, "awT", @nobits
    .globl of_thread
of_thread: .space 8
"""
EVERY_KIND = {1, 16, 17, 19, 20, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 37, 38, 39, 43, 44, 45, 51, 54, 55, 56, 57}


def assembled(folder: Path, text: str, *options: str) -> Program:
    (entry,) = compile_parts(folder, CORE, entry="void Reset_Handler(void) { for (;;); }")
    (folder / "fields.s").write_text(text)
    run(folder, "gcc", "-march=rv32imafc", "-mabi=ilp32", "-c", "fields.s", prefix="riscv64-unknown-elf")
    script = SCRIPT.replace("{ *(.sbss*", "{ *(.tbss*) *(.sbss*")
    elf = link_parts(folder, [folder / "fields.o", entry], *options, cpu=CORE, script=script)
    return Program(read_image(elf), read_names(elf), read_object(folder / "fields.o"))


NUMBERS = ("-Wl,--defsym=small=0x42", "-Wl,--defsym=page=0x3123", "-Wl,--defsym=far_number=0x0bcdef01")


@pytest.mark.parametrize("option", ["-Wl,--relax", "-Wl,--no-relax"])
def test_every_field_that_a_linker_fills_in_is_read_in_each_form(tmp_path, option):
    program = assembled(tmp_path, EVERY_FIELD, *NUMBERS, option)
    kinds = {relocation.kind for part in program.model.parts.values() for relocation in part.relocations}
    assert kinds == EVERY_KIND
    proof = program.proof()
    assert (proof.findings, proof.not_compared) == ((), ())
    for placement in program.placed().placements.values():
        for at in range(0, placement.size_bytes if placement.part.content else 0):
            found = dataclasses.replace(program, image=turned(program.image, placement.base + at, at * 5 % 8)).proof()
            assert found.findings, (placement.part.name, at)


@pytest.mark.requirement("COD02")
def test_a_word_of_the_table_of_addresses_that_leads_elsewhere_is_found(tmp_path):
    """Position-independent code loads addresses from a table that the linker makes."""
    program = assembled(tmp_path, EVERY_FIELD, *NUMBERS)
    number = program.at("number").to_bytes(4, "little")
    at = program.image.section(".data").content.index(number)
    findings = program.turned(program.image.section(".data").address + at, 4).proof().findings
    assert {finding.text.rpartition("; ")[2] for finding in findings} == {"fields.o says number"}
    assert {finding.code for finding in findings} == {"COD02"}


def test_a_field_that_is_not_read_is_named(tmp_path):
    text = (
        '.globl f; .type f, @function; f: la.tls.ie a0, number; ret; .size f, . - f; .section .tbss, "awT", @nobits; '
        ".globl number; number: .space 4; .data"
    )
    text += "; .globl sum; .type sum, @object; sum: .word 0; .reloc sum, R_RISCV_SUB32, f; .size sum, 4"
    text += "; .globl twice; .type twice, @object; twice: .word 0; .reloc twice, R_RISCV_ADD32, f; .size twice, 4"
    text += "; .reloc twice, R_RISCV_SUB32, f; .reloc twice, R_RISCV_SUB32, sum"
    program = assembled(tmp_path, text.replace("; ", "\n") + "\n")
    kinds = ("TLS_GOT_HI20 in .text", "ADD32 in .data", "SUB32 in .data")
    said = tuple(f"fields.o: fields of relocation {kind}" for kind in kinds)
    assert (program.proof().findings, program.proof().not_compared) == ((), said)


OF_A_SECTION = """
    .data
    .globl pointer
    .type pointer, @object
pointer: .word .data.array + 4, .data.array - 4
    .size pointer, 8
    .section .data.array, "aw"
    .globl array
array: .word 5, 6
"""


def test_an_address_in_a_section_is_named_by_its_distance_from_the_begin(tmp_path):
    program = assembled(tmp_path, OF_A_SECTION)
    findings = program.turned(program.at("pointer"), 1).turned(program.at("pointer") + 4, 1).proof().findings
    assert [finding.text.rpartition(" ")[2] for finding in findings] == [".data.array+0x4", ".data.array-0x4"]


DISTANCE = """
    .data
    .globl distance
    .type distance, @object
distance: .word number - wrapped
    .size distance, 4
    .globl number
number: .word 5
"""


def test_a_distance_from_a_function_that_the_linker_renames_is_compared(tmp_path):
    """--wrap: of the two functions that a reference may mean, the linker has taken the second one."""
    options = ("-Wl,--wrap=wrapped", "-Wl,--defsym=wrapped=0x08000010", "-Wl,--defsym=__wrap_wrapped=0x08000020")
    program = assembled(tmp_path, DISTANCE, *options)
    assert (program.proof().findings, program.proof().not_compared) == ((), ())
    (finding,) = program.turned(program.at("distance"), 4).proof().findings
    assert finding.code == "COD02"


def test_a_program_of_64_bits_is_not_compared(program):
    image = dataclasses.replace(program.image, has_64_bits=True)
    (said,) = dataclasses.replace(program, image=image).proof().not_compared
    assert said == "the program is for another RISC-V than one of 32 bits that is little-endian"
