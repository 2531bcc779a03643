# SPDX-License-Identifier: MIT
"""The check compares weights with what was generated, array by array, and looks for whoever else has bytes of the model."""

from __future__ import annotations

import os
import struct
from dataclasses import replace

import pytest
from elftools.elf.elffile import ELFFile

from tests.elf.fault import Fault, check, memory_findings, require_found
from tests.elf.own_script import REGIONS, RISCV, SCRIPT, STORED, WEIGHTS, claim, link, program
from tests.programs import ROOT, constant, needs_cross_compiler, needs_riscv, note, state

pytestmark = needs_cross_compiler
NOTE_LINE = "    .note.aidge 0 :"
RODATA = "    .rodata : { *(.rodata*) } > FLASH\n"
IN_DTCM = "    .rodata : { *(.rodata*) } > DTCM AT > FLASH\n"
STORED_ELSEWHERE = "    .rodata : AT(0x08003000) { *(.rodata*) } > FLASH\n"
BELOW_THE_STACK = "stack_top = 0x20001000;\n    .rodata stack_top - 80 : { *(.rodata*) } > DTCM AT > FLASH"
ON_PURPOSE = ("--weights-in=DTCM",)
CODE, OTHER = "0123456789ab", "ba9876543210"
SAYS_CODE = '__asm__(".globl aidge_kws__code_{0}\\n.set aidge_kws__code_{0}, 1");'
SECOND_NAME = (
    '__asm__(".globl kws_run_{0}\\n.thumb_set kws_run_{0}, kws_run\\n.type kws_run_{0}, %function\\n.size kws_run_{0}, 0");'
)


def weights_of(symbol: str, content: bytes) -> str:
    return f"const int8_t {symbol}[{len(content)}] __attribute__((aligned(4))) = {{{', '.join(map(str, content))}}};"


def claims_two(first: bytes, second: bytes) -> dict:
    arrays = [constant("kws_fc_weights", first, 4), constant("kws_fc_bias", second, 4)]
    return claim(weights=arrays, weights_bytes=len(first) + len(second))


def of_twin(size_bytes: int = 512, **changes) -> dict:
    """The claim of a second model without weights, whose arena belongs into the same memory."""
    arena = {**claim()["arenas"][0], "symbol": "vww_arena", "size_bytes": size_bytes}
    empty = {"weights": [], "weights_bytes": 0, "functions": ["vww_run"], "layers": [], "arena_bytes": size_bytes}
    return claim(model="vww", arenas=[arena], **{**empty, **changes})


def twin(size_bytes: int = 512, **changes) -> str:
    """The second model, whose arena has a section of its own."""
    return f"""{note(of_twin(size_bytes, **changes)).replace("aidge_kws_", "aidge_vww_")}
__attribute__((section(".bss.aidge_AXI.vww"), aligned(16), used)) uint8_t vww_arena[{size_bytes}];
void vww_run(void) {{}}
"""


ALIAS = f"""{note(of_twin())}
__asm__(".globl vww_arena\\n.set vww_arena, kws_arena\\n.type vww_arena, %object\\n.size vww_arena, 512");
void vww_run(void) {{}}
"""
PLACED = "    .arenas (NOLOAD) : { *(.bss.aidge_AXI .bss.aidge_AXI.*) } > AXI\n"
OVERLAY = """
    .one 0x24000000 (NOLOAD) : { *(.bss.aidge_AXI.kws) }
    .two 0x24000000 (NOLOAD) : { *(.bss.aidge_AXI.vww) MORE }
"""
NO_CHECK = ("-Wl,--no-check-sections",)


def overlay(more: str = "") -> str:
    """Both arenas at one place, `more` behind the second one."""
    assert PLACED in SCRIPT
    return SCRIPT.replace(PLACED, OVERLAY.replace("MORE", more))


def as_documented() -> str:
    """The line of the page about proofs, in the place of ours."""
    (line,) = [line for line in (ROOT / "docs" / "proof.md").read_text().splitlines() if line.startswith("OVERLAY ")]
    assert PLACED in SCRIPT
    return SCRIPT.replace(PLACED, f"    {line}\n")


def at_weights(change: bytes, offset: int = 0):
    """Writes into the array in the file."""

    def edit(content: bytearray, image: ELFFile) -> None:
        (symbol,) = image.get_section_by_name(".symtab").get_symbol_by_name("kws_fc_weights")
        section = image.get_section(symbol["st_shndx"])
        start = section["sh_offset"] + symbol["st_value"] - section["sh_addr"] + offset
        content[start : start + len(change)] = change

    return edit


def in_symbol(name: str, field: int, change):
    """A word of a symbol: 4 is its address, 8 its size."""

    def edit(content: bytearray, image: ELFFile) -> None:
        table = image.get_section_by_name(".symtab")
        (index,) = (index for index, symbol in enumerate(table.iter_symbols()) if symbol.name == name)
        at = table["sh_offset"] + index * table["sh_entsize"] + field
        struct.pack_into("<I", content, at, change(struct.unpack_from("<I", content, at)[0]))

    return edit


def segments_from_elsewhere(content: bytearray, image: ELFFile) -> None:
    """A loader that goes by segments gets bytes from 16 further on."""
    for index, segment in enumerate(image.iter_segments()):
        at = image["e_phoff"] + index * image["e_phentsize"] + 4
        if segment["p_type"] == "PT_LOAD" and segment["p_filesz"]:
            struct.pack_into("<I", content, at, segment["p_offset"] + 16)


TWO_ARRAYS = program(
    "const int8_t *volatile seen; void extra(void) { seen = kws_fc_bias; }",
    weights=weights_of("kws_fc_weights", STORED) + weights_of("kws_fc_bias", bytes(range(64))),
    says=claims_two(STORED, bytes(range(64))),
)
DATA_LINE = "    .data :"
PHDRS = "PHDRS { all PT_LOAD; }\n"
FAULTS = {
    "64 zeroed bytes of weights": Fault(
        "MEM14",
        ("weights kws_fc_weights (64 B) of model kws are not what was generated: each byte is 0x00", "link again"),
        edit=at_weights(bytes(64)),
    ),
    "erased weights": Fault("MEM14", ("each byte is 0xff",), edit=at_weights(b"\xff" * 64)),
    "one bit of the last byte": Fault(
        "MEM14", ("are not what was generated: their SHA-256 differs",), edit=at_weights(b"\x80", 63)
    ),
    "one bit of the first byte": Fault("MEM14", ("their SHA-256 differs",), edit=at_weights(b"\x02")),
    "weights from before the training": Fault(
        "MEM14", ("weights kws_fc_weights (64 B)",), program(weights=WEIGHTS.replace("{3, 1}", "{3, 2}"))
    ),
    "arrays of one size exchanged": Fault(
        "MEM14",
        ("weights kws_fc_weights (64 B) of model kws are not what was generated: they equal kws_fc_bias",),
        program(
            "const int8_t *volatile seen; void extra(void) { seen = kws_fc_bias; }",
            weights=weights_of("kws_fc_weights", bytes(range(64))) + weights_of("kws_fc_bias", bytes(range(64))),
            says=claims_two(STORED, bytes(range(64))),
        ),
    ),
    "an array whose symbol was moved": Fault(
        "MEM14",
        ("weights kws_fc_weights (64 B)", "their SHA-256 differs"),
        TWO_ARRAYS,
        edit=in_symbol("kws_fc_weights", 4, lambda value: value - 4),
    ),
    "an array whose symbol lies outside of its section": Fault(
        "MEM03", ("are not stored: no section holds them",), edit=in_symbol("kws_fc_weights", 4, lambda value: value + 4)
    ),
    "an array that is a byte too large": Fault(
        "MEM02",
        ("weights kws_fc_weights (65 B) of model kws: the claim says 64 B (+1 B)",),
        program(weights=WEIGHTS.replace("[64]", "[65]")),
    ),
    "an array that is a byte too small": Fault(
        "MEM02", ("(63 B) of model kws: the claim says 64 B (-1 B)",), program(weights=WEIGHTS.replace("[64]", "[63]"))
    ),
    "a byte more here and one less there": Fault(
        "MEM02",
        ("weights kws_fc_weights (65 B)", "(+1 B)"),
        program(
            "const int8_t *volatile seen; void extra(void) { seen = kws_fc_bias; }",
            weights=weights_of("kws_fc_weights", bytes(65)) + weights_of("kws_fc_bias", bytes(range(64))),
            says=claims_two(bytes(64), bytes(range(64))),
        ),
    ),
    "an array at no multiple of its own alignment": Fault(
        "MEM02",
        ("which is no multiple of 4096", "no SUBALIGN"),
        program(says=claim(weights=[constant(content=STORED, alignment=4096)])),
    ),
    "weights without a load image": Fault(
        "MEM03",
        ("weights kws_fc_weights (64 B) are in DTCM, which is RAM", "--weights-in"),
        script=SCRIPT.replace(RODATA, IN_DTCM.replace(" AT > FLASH", "")),
    ),
    "all weights in RAM, which is one fault of one script": Fault(
        "MEM03",
        ("weights kws_fc_weights and 1 more, 128 B in all, are in DTCM, which is RAM",),
        TWO_ARRAYS,
        SCRIPT.replace(RODATA, IN_DTCM.replace(" AT > FLASH", "")),
    ),
    "weights in RAM on purpose, but nothing to copy them from": Fault(
        "MEM03",
        ("are stored in DTCM, which is RAM: no code copies them there", "AT > FLASH"),
        script=SCRIPT.replace(RODATA, IN_DTCM.replace(" AT > FLASH", "")),
        says=ON_PURPOSE,
    ),
    "weights in another RAM than the one that was named": Fault(
        "MEM03", ("are in DTCM, which is RAM",), script=SCRIPT.replace(RODATA, IN_DTCM), says=("--weights-in=AXI",)
    ),
    "weights in RAM on purpose that nobody stores": Fault(
        "MEM03",
        ("are not stored: no contents fill .rodata",),
        script=SCRIPT.replace(RODATA, "    .rodata (NOLOAD) : { *(.rodata*) } > DTCM\n"),
        says=ON_PURPOSE,
    ),
    "weights in RAM on purpose whose copy was zeroed": Fault(
        "MEM14", ("each byte is 0x00",), script=SCRIPT.replace(RODATA, IN_DTCM), says=ON_PURPOSE, edit=at_weights(bytes(64))
    ),
    "weights in no segment": Fault(
        "MEM03",
        ("are not loaded: no segment of the ELF file holds the bytes of .rodata", "PHDRS"),
        script=PHDRS
        + SCRIPT.replace("*(.isr_vector)) } > FLASH", "*(.isr_vector)) } > FLASH :all")
        .replace(RODATA, RODATA.replace("> FLASH", "> FLASH :NONE"))
        .replace("} > AXI\n", "} > AXI :all\n", 1),
    ),
    "segments from another place of the file": Fault(
        "MEM03", ("are not loaded: no segment of the ELF file holds the bytes of .rodata",), edit=segments_from_elsewhere
    ),
    "something else stored where the weights are": Fault(
        "MEM12",
        ("weights kws_fc_weights (64 B) share their bytes at 0x08008000 to 0x0800803f with section .data (0x08008010",),
        program("volatile int table[2] = {1, 2};"),
        SCRIPT.replace(".rodata :", ".rodata 0x08008000 :")
        .replace(".data :", ".data : AT(0x08008010)")
        .replace(" AT > FLASH", ""),
        NO_CHECK,
    ),
    "weights that are stored elsewhere in the flash that they are read in": Fault(
        "MEM03", ("read at", "no code copies them from flash to flash#"), script=SCRIPT.replace(RODATA, STORED_ELSEWHERE)
    ),
    "copied weights where the stack grows": Fault(
        "MEM12",
        ("weights kws_fc_weights ends 16 B below 0x20001000, where the stack begins",),
        script=SCRIPT.replace(RODATA, "").replace("stack_top = 0x20010000;", BELOW_THE_STACK),
        says=ON_PURPOSE,
    ),
    "two sections stored in one place": Fault(
        "MEM12",
        ("sections .text (0x08000010 to", "and .data (0x08000018 to 0x0800001f) are stored in the same bytes"),
        program("volatile int table[2] = {1, 2};"),
        SCRIPT.replace(".data :", ".data : AT(0x08000018)").replace(" AT > FLASH", ""),
        NO_CHECK,
    ),
    "a section over the weights": Fault(
        "MEM12",
        ("share their bytes at 0x08008000 to 0x0800803f with section .other (0x08008020 to 0x0800811f)",),
        script=SCRIPT.replace(RODATA, RODATA.replace(" :", " 0x08008000 :")).replace(
            NOTE_LINE, f"    .other 0x08008020 (NOLOAD) : {{ . += 256; }}\n{NOTE_LINE}"
        ),
        options=NO_CHECK,
    ),
    "a heap over weights that were copied": Fault(
        "MEM12",
        ("share their bytes at 0x20000000 to 0x2000003f with the heap (__heap_start to __heap_end)",),
        script=SCRIPT.replace(RODATA, IN_DTCM).replace(
            NOTE_LINE, f"    __heap_start = 0x20000030; __heap_end = 0x20001000;\n{NOTE_LINE}"
        ),
        says=ON_PURPOSE,
    ),
    "initial values that are stored in no memory": Fault(
        "MEM01",
        ("section .data", "is stored at 0x60000000, in no memory of the board"),
        program("volatile int table[2] = {1, 2};"),
        SCRIPT.replace(".data :", ".data : AT(0x60000000)").replace(" AT > FLASH", ""),
    ),
    "constants of another model with the same names": Fault(
        "MEM04",
        (f"generated with code {CODE}, the program has {OTHER}: kws_weights.c is from another model",),
        program(SAYS_CODE.format(OTHER), says=claim(code=CODE, interface="")),
    ),
    "the code of two models of one name": Fault(
        "MEM04",
        (f"generated with code {CODE}, the program has {CODE} and {OTHER}",),
        program(SAYS_CODE.format(OTHER) + SAYS_CODE.format(CODE), says=claim(code=CODE)),
    ),
    "code that does not say which it is": Fault(
        "MEM04", ("the code of model kws does not say",), program(says=claim(code=CODE)), severity="warning"
    ),
    "constants of another interface": Fault(
        "MEM04",
        (f"generated with interface {CODE}, the program has {OTHER}",),
        program(SECOND_NAME.format(OTHER) + SAYS_CODE.format(CODE), says=claim(code=CODE, interface=CODE)),
    ),
    "two claims of one model": Fault(
        "MEM04",
        ("several claims of model kws, which contradict each other", "link one kws_weights.c"),
        program(note(claim(peak_bytes=600))),
    ),
    "arenas that take turns, which nobody said": Fault(
        "MEM12", ("arena kws_arena shares its bytes with section .two", "--shares"), program(twin()), overlay(), NO_CHECK
    ),
    "a variable behind an arena that shares": Fault(
        "MEM12",
        ("arena kws_arena shares its bytes with section .two (0x24000000 to 0x240001ff: vww_arena)",),
        program(twin(496) + "__attribute__((used)) char mine[16];"),
        overlay("*(.bss.mine)"),
        NO_CHECK,
        says=("--shares=kws+vww",),
    ),
    "a small variable behind an arena that shares": Fault(
        "MEM12",
        ("arena kws_arena shares its bytes with mine (4 B at 0x240001fc)",),
        program(twin(508) + "__attribute__((used)) char mine[4];"),
        overlay("*(.bss.mine)"),
        NO_CHECK,
        says=("--shares=kws+vww",),
    ),
    "a state in the arena of a model that shares": Fault(
        "MEM12",
        ("state vww_state shares its bytes with section .one",),
        program(twin(state=state("vww", 8)) + "__attribute__((used)) char vww_state[8];"),
        overlay().replace(DATA_LINE, "    .state 0x24000010 (NOLOAD) : { *(.bss.vww_state) }\n" + DATA_LINE),
        NO_CHECK,
        says=("--shares=kws+vww",),
    ),
    "an arena that is another one's with a second name": Fault(
        "MEM12", ("arena kws_arena shares its bytes with vww_arena (512 B at 0x24000000)",), program(ALIAS)
    ),
    "a number with a size inside of the arena": Fault(
        "MEM12",
        ("arena kws_arena shares its bytes with mine (8 B at 0x240001f8)",),
        program('__asm__(".globl mine\\n.set mine, 0x240001f8\\n.type mine, %object\\n.size mine, 8");'),
    ),
    "a state that is too small": Fault(
        "MEM02",
        ("state kws_state is 7 B, the plan says 8 B (-1 B)",),
        program("__attribute__((used)) char kws_state[7];", says=claim(state=state("kws", 8))),
    ),
    "an arena whose symbol has lost its size": Fault(
        "MEM02", ("is 0 B, the plan says 512 B (-512 B)",), edit=in_symbol("kws_arena", 8, lambda size: 0)
    ),
    "a stack that grows down to the arena": Fault(
        "MEM12",
        ("arena kws_arena ends 16 B below 0x24000210, where the stack begins, which needs",),
        script=SCRIPT.replace("stack_top = 0x20010000", "stack_top = 0x24000210"),
    ),
    "code in RAM that no reset brings back": Fault(
        "MEM03",
        ("code of model kws (kws_conv", " in .itcm) runs in DTCM and is stored in DTCM", "no code copies it there after a reset"),
        script=SCRIPT.replace("    .text", "    .itcm : { *(.text.kws_*) } > DTCM\n    .text"),
    ),
    "code in RAM that nothing stores": Fault(
        "MEM03",
        ("code of model kws (kws_conv", "in .itcm) is not stored: no contents fill the section"),
        script=SCRIPT.replace("    .text", "    .itcm (NOLOAD) : { *(.text.kws_*) } > DTCM\n    .text"),
    ),
    "kernels alone in RAM that no reset brings back": Fault(
        "MEM03",
        ("code of model kws (aidge_dot in .itcm) runs in DTCM and is stored in DTCM",),
        program('__attribute__((section(".fast"), noinline)) void aidge_dot(void) { } void extra(void) { aidge_dot(); }'),
        SCRIPT.replace("    .text", "    .itcm : { *(.fast) } > DTCM\n    .text"),
    ),
    "code that is stored in flash and copied by nobody": Fault(
        "MEM03",
        ("runs in DTCM, and no start-up code was found that copies from 0x08",),
        script=SCRIPT.replace("    .data :", "    .itcm : { *(.text.kws_*) } > DTCM AT > FLASH\n    .data :").replace(
            "*(.text*)", "*(EXCLUDE_FILE(*) .text*) *(.text.main .text.Reset* .text.Fault*)"
        ),
        severity="note",
    ),
    "a big-endian program": Fault(
        "MEM13",
        ("of model kws are little-endian, the program is big-endian",),
        cpu=("-mcpu=cortex-m7", "-mthumb", "-mbig-endian"),
    ),
}


@pytest.mark.requirement("MEM01", "MEM02", "MEM03", "MEM04", "MEM07", "MEM12", "MEM13", "MEM14")
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_data_is_found_and_nothing_else_is(tmp_path, name):
    require_found(tmp_path, FAULTS[name])


# What the check reads in another way in programs for RISC-V; all of the faults with AIDGE_STRESS=1 (`./sconsw stress`).
OTHERWISE_ON_RISCV = (
    "copied weights where the stack grows",
    "a stack that grows down to the arena",
    "code that is stored in flash and copied by nobody",
    "one bit of the last byte",
    "constants of another interface",
)
OF_ARM = ("two sections stored in one place", "a big-endian program")


@needs_riscv
@pytest.mark.parametrize("name", set(FAULTS) - set(OF_ARM) if os.environ.get("AIDGE_STRESS") else OTHERWISE_ON_RISCV)
def test_a_fault_of_the_data_of_a_program_for_riscv_is_found_and_nothing_else_is(tmp_path, name):
    require_found(tmp_path, replace(FAULTS[name], cpu=RISCV))


@pytest.mark.requirement("MEM12")
@needs_riscv
@pytest.mark.parametrize("where", ["begins in", "ends at"])
def test_a_stack_of_a_program_for_riscv_that_begins_in_the_arena_is_found(tmp_path, where):
    top = {"begins in": "0x24000100", "ends at": "0x24000200"}[where]
    script = SCRIPT.replace("stack_top = 0x20010000", f"stack_top = {top}")
    words = (f"arena kws_arena shares its bytes with the stack, which grows down from {top}",)
    require_found(tmp_path, Fault("MEM12", words, script=script, cpu=RISCV))


GOOD = {
    "as it should be": Fault("", ()),
    "with its own code": Fault("", (), program(SAYS_CODE.format(CODE), says=claim(code=CODE, interface=CODE))),
    "with its own interface": Fault(
        "", (), program(SECOND_NAME.format(CODE) + SAYS_CODE.format(CODE), says=claim(code=CODE, interface=CODE))
    ),
    "with the same claim twice": Fault("", (), program(note(claim()))),
    "weights that are copied on purpose": Fault("", (), script=SCRIPT.replace(RODATA, IN_DTCM), says=ON_PURPOSE),
    "weights among variables on purpose": Fault(
        "", (), script=SCRIPT.replace(RODATA, "").replace("*(.data*)", "*(.data*) *(.rodata*)"), says=ON_PURPOSE
    ),
    "arenas that take turns, which was said": Fault("", (), program(twin()), overlay(), NO_CHECK, says=("--shares=vww+kws",)),
    "padding behind an arena that shares": Fault(
        "", (), program(twin(497)), overlay(". += 15;"), NO_CHECK, says=("--shares=kws+vww",)
    ),
    "arenas that take turns as the page says": Fault("", (), program(twin()), as_documented(), says=("--shares=kws+vww",)),
    "a second name of an arena that was said": Fault("", (), program(ALIAS), says=("--shares=vww+kws",)),
    "equal arrays of which the compiler made one": Fault("", (), program(says=claims_two(STORED, STORED))),
    "a section in flash that somebody calls writable": Fault(
        "",
        (),
        program("volatile int mine = 5;"),
        SCRIPT.replace(".rodata*) }", ".rodata*) *(.data*) }").replace("*(.data*) } > DTCM", "} > DTCM"),
    ),
    "two arrays": Fault("", (), TWO_ARRAYS),
    "code in RAM that start-up code copies": Fault(
        "",
        (),
        program("extern char load[]; char *volatile from; void extra(void) { from = load; }"),
        SCRIPT.replace(
            "    .text :", "    .itcm : { *(.text.kws_*) } > DTCM AT > FLASH\n    load = LOADADDR(.itcm);\n    .text :"
        ),
    ),
    "two arenas side by side": Fault("", (), program(twin())),
    "neighbours of the weights": Fault(
        "",
        (),
        script=SCRIPT.replace(RODATA, RODATA.replace(" :", " 0x08008000 :")).replace(
            NOTE_LINE,
            "    .before 0x08007ff0 (NOLOAD) : { . += 16; }\n    .behind 0x08008040 (NOLOAD) : { . += 16; }\n" + NOTE_LINE,
        ),
    ),
    "another file's array of the same name": Fault(
        "",
        (),
        program(
            weights=WEIGHTS.replace("const", "extern const").partition(" __attr")[0]
            + ";"
            + """__asm__(".section .rodata.a\\n.type \
kws_fc_weights, %object\\n.globl kws_fc_weights\\nkws_fc_weights: .byte 3, 1\\n.space 62\\n.size kws_fc_weights, 64\\n.text");"""
        ),
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_what_is_no_fault_is_not_found(tmp_path, name):
    good = GOOD[name]
    elf = link(tmp_path, good.program, good.script, *good.options)
    assert memory_findings(check(elf, *REGIONS, *good.says)) == []


@needs_riscv
@pytest.mark.parametrize("flags", ["", "-mcmodel=medany", "-Wl,--defsym=__global_pointer$=load+64"])
def test_code_of_a_program_for_riscv_that_start_up_code_copies_is_no_fault(tmp_path, flags):
    """Its address is in lui or auipc and addi, or is a distance from gp."""
    good = GOOD["code in RAM that start-up code copies"]
    elf = link(tmp_path, good.program, good.script, *flags.split(), cpu=RISCV)
    assert memory_findings(check(elf, *REGIONS)) == []


@pytest.mark.requirement("MEM03")
def test_without_memories_what_can_be_written_is_no_place_for_weights(tmp_path):
    elf = link(tmp_path, program(), SCRIPT.replace(RODATA, "").replace("*(.data*)", "*(.data*) *(.rodata*)"))
    ((code, text),) = [(finding["code"], finding["text"]) for finding in memory_findings(check(elf, "--max-stack=4096"))]
    assert code == "MEM03" and text == "weights kws_fc_weights (64 B) are in writable .data: they cost flash and RAM"


@pytest.mark.requirement("MEM07")
def test_an_array_that_is_nowhere_is_said_to_be_not_compared(tmp_path):
    elf = link(tmp_path, program(says=claims_two(STORED, bytes(range(64)))))
    (finding,) = memory_findings(check(elf))
    assert (finding["code"], finding["severity"]) == ("MEM07", "note")
    assert finding["text"].endswith("merged by the compiler or not used: kws_fc_bias; their bytes are not compared")
