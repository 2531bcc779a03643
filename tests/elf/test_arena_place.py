# SPDX-License-Identifier: MIT
"""The check looks where the arena lies: in the planned memory, aligned, inside of its section, and with bytes of its own."""

from __future__ import annotations

import struct

import pytest
from elftools.elf.elffile import ELFFile

from aidge_build.boards import Region
from aidge_build.prove.elf.arena_proof import script_line
from aidge_build.prove.elf.claim import ClaimedArena
from tests.command import aidge_build
from tests.elf.fault import Fault, check, memory_findings, require_found
from tests.elf.own_script import ARENA, AXI, REGIONS, SCRIPT, WEIGHTS, claim, edited, link, program
from tests.programs import CLAIM, ROOT, arena, needs_cross_compiler, note

pytestmark = needs_cross_compiler
PLACED = "    .arenas (NOLOAD) : { *(.bss.aidge_AXI .bss.aidge_AXI.*) } > AXI\n"
MISSING_LINE = ".aidge_AXI (NOLOAD) : { *(.bss.aidge_AXI .bss.aidge_AXI.*) } > AXI"
NOTE_LINE = "    .note.aidge 0 :"
TWIN = ARENA.replace("kws_arena", "vww_arena").replace(".kws", ".vww")


def after(line: str, more: str) -> str:
    """The script with a line behind another one."""
    assert line in SCRIPT
    return SCRIPT.replace(line, line + more)


def before_note(more: str) -> str:
    return SCRIPT.replace(NOTE_LINE, f"{more}\n{NOTE_LINE}")


def inside(count: int) -> str:
    """Variables of 8 bytes from the arena's first byte on."""
    lines = (f".set one{at}, kws_arena + {8 * at}\\n.type one{at}, %object\\n.size one{at}, 8\\n" for at in range(count))
    return f'__asm__("{"".join(lines)}");'


FAULTS = {
    "a script without the line": Fault(
        "MEM02",
        ("is in DTCM, the plan says AXI (0x24000000 to 0x2407ffff)", f"before .bss: {MISSING_LINE}"),
        script=SCRIPT.replace(PLACED, ""),
    ),
    "an arena that is too small": Fault(
        "MEM02", ("is 480 B, the plan says 512 B (-32 B)",), program(arena=ARENA.replace("512", "480"))
    ),
    "an arena that is too large": Fault(
        "MEM02", ("is 528 B, the plan says 512 B (+16 B)",), program(arena=ARENA.replace("512", "528"))
    ),
    "an arena that ends behind its memory": Fault(
        "MEM02",
        ("is in AXI and beyond its end",),
        script=SCRIPT.replace(".arenas (NOLOAD)", ".arenas 0x2407ff00 (NOLOAD)").replace("512K", "513K"),
    ),
    "an odd address": Fault(
        "MEM02",
        ("is at 0x24000001, which is no multiple of 16",),
        script=SCRIPT.replace(".arenas (NOLOAD) :", ".arenas 0x24000001 (NOLOAD) : SUBALIGN(1)"),
    ),
    "a symbol without a section": Fault(
        "MEM02",
        ("is a number without a section",),
        program(arena='extern uint8_t kws_arena[512]; __asm__(".type kws_arena, %object\\n.size kws_arena, 512");'),
        before_note("    kws_arena = 0x24000100;"),
    ),
    "zeros in flash": Fault(
        "MEM02",
        ("is in .data, and the ELF file stores its bytes: 512 zeros cost flash", "> RAM"),
        program(says=claim(**arena())),
        SCRIPT.replace(PLACED, "").replace("*(.data*)", "LONG(1) *(.data*) *(.bss.aidge_*)"),
        severity="warning",
    ),
    "an arena in flash": Fault(
        "MEM02",
        ("is in FLASH, which cannot be written", "before .bss", "> AXI"),
        script=SCRIPT.replace("} > AXI\n", "} > FLASH\n"),
    ),
    "a section at the same addresses": Fault(
        "MEM12",
        ("shares its bytes with section .other (0x24000100 to 0x240004ff: picture)",),
        program('__attribute__((section(".other"), used)) char picture[1024] = {1};'),
        before_note("    .other 0x24000100 : { *(.other*) } AT > FLASH"),
        ("-Wl,--no-check-sections",),
    ),
    "an overlay": Fault(
        "MEM12",
        ("shares its bytes with section .second (0x24000000 to 0x2400000f: picture)",),
        program('__attribute__((section(".second"), used)) char picture[16] = {1};'),
        SCRIPT.replace(
            PLACED,
            "    OVERLAY 0x24000000 : AT (0x08008000) { .first { *(.bss.aidge_*) } .second { *(.second) } }\n",
        ),
    ),
    "a section that is stored where the arena lies": Fault(
        "MEM12",
        ("shares its bytes with section .data (0x24000010 to 0x24000017: table)",),
        program("volatile int table[2] = {1, 2};"),
        SCRIPT.replace("> DTCM AT > FLASH", "> DTCM").replace(".data :", ".data : AT(0x24000010)"),
        ("-Wl,--no-check-sections",),
    ),
    "a variable inside": Fault(
        "MEM12",
        ("shares its bytes with mine (8 B at 0x24000010)",),
        program('__asm__(".globl mine\\n.set mine, kws_arena + 16\\n.type mine, %object\\n.size mine, 8");'),
    ),
    "the heap of picolibc": Fault(
        "MEM12",
        ("shares its bytes with the heap (__heap_start to __heap_end), 0x24000100 to 0x24000fff",),
        script=before_note("    __heap_start = 0x24000100; __heap_end = 0x24001000;"),
    ),
    "the stack of CMSIS": Fault(
        "MEM12",
        ("shares its bytes with the stack (__StackLimit to __StackTop), 0x24000000 to 0x240007ff",),
        script=before_note("    __StackTop = 0x24000800; __StackLimit = 0x24000000;"),
    ),
    "the stack of the Pico SDK, where __StackLimit is the end of the heap": Fault(
        "MEM12",
        ("shares its bytes with the stack (__StackBottom to __StackTop), 0x24000100 to 0x2400017f",),
        script=before_note("    __StackTop = 0x24000180; __StackBottom = 0x24000100; __StackLimit = 0x24002000;"),
    ),
    "ST's stack": Fault(
        "MEM12",
        ("shares its bytes with the stack (_Min_Stack_Size below _estack), 0x24000100 to 0x240004ff",),
        script=before_note("    _estack = 0x24000500; _Min_Stack_Size = 0x400;"),
    ),
    "ST's heap": Fault(
        "MEM12",
        ("shares its bytes with the heap (_Min_Heap_Size from _end), 0x240001f0 to 0x240005ef",),
        script=before_note("    _end = 0x240001f0; _Min_Heap_Size = 0x400;"),
    ),
    "a stack that begins above": Fault(
        "MEM12",
        ("shares its bytes with the stack, which grows down from 0x24000200",),
        script=SCRIPT.replace("stack_top = 0x20010000", "stack_top = 0x24000200"),
    ),
    "a heap without an end": Fault(
        "MEM12",
        ("is above 0x24000000 (end), where the heap begins",),
        program("void *_sbrk(int n) { return (void *)(long)n; } void extra(void) { _sbrk(3); }"),
        SCRIPT.replace(PLACED, "    end = 0x24000000;\n" + PLACED),
        severity="warning",
    ),
    "a heap without an end beside a stack that has one": Fault(
        "MEM12",
        ("is above 0x24000000 (end), where the heap begins",),
        program("void *_sbrk(int n) { return (void *)(long)n; } void extra(void) { _sbrk(3); }"),
        before_note("    __StackLimit = 0x23ff0000; __StackTop = 0x23ff8000; end = 0x24000000;"),
        severity="warning",
    ),
    "three variables inside": Fault(
        "MEM12",
        ("shares its bytes with one0 (8 B at 0x24000000), one1 (8 B at 0x24000008), one2 (8 B at 0x24000010)#",),
        program(inside(3)),
    ),
    "four variables inside": Fault("MEM12", ("one2 (8 B at 0x24000010) and 1 more#",), program(inside(4))),
    "two models with one arena": Fault(
        "MEM12",
        ("arena kws_arena shares its bytes with vww_arena (512 B at 0x24000000)",),
        program(
            '__asm__(".globl vww_arena, aidge_vww__arena_bytes\\n.set vww_arena, kws_arena\\n.type vww_arena, %object\\n'
            '.size vww_arena, 512\\n.set aidge_vww__arena_bytes, 512\\n"); void vww_run(void) {}'
        ),
    ),
    "weights that nobody stores": Fault(
        "MEM03",
        ("are not stored: no contents fill .rodata", "NOLOAD"),
        script=SCRIPT.replace(".rodata :", ".rodata (NOLOAD) :"),
    ),
    "constant weights that are copied to RAM": Fault(
        "MEM03",
        ("weights kws_fc_weights (64 B) are in DTCM, which is RAM",),
        script=SCRIPT.replace("*(.rodata*) } > FLASH", "*(.rodata*) } > DTCM AT > FLASH"),
    ),
    "weights at an odd address": Fault(
        "MEM02",
        ("are at 0x0800", "which is no multiple of 4"),
        program(weights="const char odd[1] = {7};\n" + WEIGHTS.replace("=", '__attribute__((section(".rodata.z"))) =')),
        SCRIPT.replace(".rodata : { *(.rodata*)", ".rodata : SUBALIGN(1) { BYTE(1) *(.rodata*)"),
    ),
    "code for a larger core": Fault(
        "MEM13",
        ("model kws was generated for cortex-m55 (v8.1-M.mainline), the program is for v7E-M",),
        program(says=claim(cpu="cortex-m55")),
    ),
    "code for a smaller core": Fault(
        "MEM13",
        (
            "model kws was generated for cortex-m0plus (v6-M), the program is for v7E-M: kernels that are made "
            "for it are not used",
        ),
        program(says=claim(cpu="cortex-m0plus")),
        severity="warning",
    ),
    "code for no core at all": Fault(
        "MEM13",
        ("model kws was generated for host, the program is for v7E-M",),
        program(says=claim(cpu="host")),
        severity="warning",
    ),
    "code for any core": Fault(
        "MEM13",
        ("model kws was generated for generic, the program is for v7E-M: kernels that are made for it are not used",),
        program(says=claim(cpu="generic")),
        severity="warning",
    ),
}


@pytest.mark.requirement("MEM02", "MEM03", "MEM12", "MEM13")
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_place_is_found_and_nothing_else_is(tmp_path, name):
    require_found(tmp_path, FAULTS[name])


@pytest.mark.parametrize("regions", [REGIONS, ("--region=ANY=0,0x7fffffff",), ("--max-stack=4096",)], ids=["all", "one", "none"])
def test_an_arena_where_it_belongs_is_as_planned_whatever_is_known_of_the_memories(tmp_path, regions):
    elf = link(tmp_path, program())
    assert memory_findings(check(elf, *regions)) == []
    text = aidge_build("check", elf, *regions).stdout
    assert "arena kws   512 B = plan" in text


def test_without_a_board_the_claim_itself_knows_where_the_planned_memory_lies(tmp_path):
    result = check(link(tmp_path, program(), SCRIPT.replace(PLACED, "")), "--max-stack=4096")
    (finding,) = memory_findings(result)
    assert finding["text"] == "arena kws_arena is at 0x20000000, the plan says AXI (0x24000000 to 0x2407ffff)"
    assert MISSING_LINE in finding["hint"] and result.exit_code == 1


def test_the_text_says_equal_to_the_plan_only_where_everything_is(tmp_path):
    elf = link(tmp_path, program(), SCRIPT.replace(PLACED, ""))
    assert "= plan" not in aidge_build("check", elf, *REGIONS).stdout


NEIGHBOURS = """
    .before 0x23ffff00 (NOLOAD) : { . += 256; }
    .behind 0x24000200 (NOLOAD) : { . += 256; }
    __heap_start = 0x23ff0000; __heap_end = 0x24000000; end = 0x23ff0000;
    __StackLimit = 0x20000000; __StackBottom = 0x24000200; __StackTop = 0x24001000;
    mine = 0x24000010;
"""


def test_neighbours_that_end_or_begin_at_the_arena_are_no_fault(tmp_path):
    """Sections, heap, stack and the first stack pointer up to its first byte and from behind its last one on."""
    script = before_note(NEIGHBOURS).replace("stack_top = 0x20010000", "stack_top = 0x24000000")
    code = program("void *_sbrk(int n) { return (void *)(long)n; } void extra(void) { _sbrk(3); }")
    found = memory_findings(check(link(tmp_path, code, script, "-Wl,--no-check-sections"), "--region=ANY=0,0x7fffffff"))
    assert {finding["code"] for finding in found} <= {"MEM08"}


def test_where_a_heap_begins_is_compared_with_the_memory_of_the_claim(tmp_path):
    code = program("void *_sbrk(int n) { return (void *)(long)n; } void extra(void) { _sbrk(3); }")
    for first, is_found in ((0x24000000, True), (0x23FFFFFF, False)):
        found = memory_findings(check(link(tmp_path, code, before_note(f"    end = {first};")), "--max-stack=4096"))
        assert ("MEM12" in {finding["code"] for finding in found}) == is_found
    nowhere = code.replace(note(claim()), note({**CLAIM, "weights": claim()["weights"]}))
    found = memory_findings(check(link(tmp_path, nowhere, before_note("    end = 0x24000000;")), "--max-stack=4096"))
    assert {finding["code"] for finding in found} == {"MEM08"}


def test_without_its_note_no_alignment_is_asked_of_an_arena(tmp_path):
    script = SCRIPT.replace(".arenas (NOLOAD) :", ".arenas 0x24000001 (NOLOAD) : SUBALIGN(1)").replace(
        ".note.aidge 0 : { KEEP(*(.note.aidge)) }", "/DISCARD/ : { *(.note.aidge) }"
    )
    assert [finding["code"] for finding in memory_findings(check(link(tmp_path, program(), script)))] == ["MEM04"]


def test_a_heap_that_begins_behind_the_arena_needs_no_end(tmp_path):
    code = program("void *_sbrk(int n) { return (void *)(long)n; } void extra(void) { _sbrk(3); }")
    found = memory_findings(check(link(tmp_path, code, SCRIPT.replace(PLACED, PLACED + "    end = 0x24000200;\n"))))
    assert {finding["code"] for finding in found} <= {"MEM08"}


def test_a_part_without_bytes_needs_no_array(tmp_path):
    parts = [*claim()["arenas"], {**claim()["arenas"][0], "symbol": "kws_arena_none", "size_bytes": 0}]
    assert memory_findings(check(link(tmp_path, program(says=claim(arenas=parts))))) == []


def test_a_heap_that_is_not_linked_needs_no_end(tmp_path):
    script = SCRIPT.replace(PLACED, "    end = 0x24000000;\n" + PLACED)
    assert memory_findings(check(link(tmp_path, program(), script))) == []


@pytest.mark.parametrize("length, is_found", [(512, False), (511, True)])
def test_the_last_byte_of_the_memory_is_the_arenas(tmp_path, length, is_found):
    elf = link(tmp_path, program(says=claim(arenas=[{**claim()["arenas"][0], "memory": {**AXI, "length_bytes": length}}])))
    assert [finding["code"] for finding in memory_findings(check(elf, "--max-stack=4096"))] == (["MEM02"] if is_found else [])


def test_a_second_name_of_the_arena_is_the_arena(tmp_path):
    alias = (
        '__asm__(".globl kws_arena_0123\\n.set kws_arena_0123, kws_arena\\n.type kws_arena_0123, %object\\n.size '
        'kws_arena_0123, 512");'
    )
    assert memory_findings(check(link(tmp_path, program(alias)))) == []


def test_arenas_of_two_models_in_one_section_are_no_fault(tmp_path):
    twin = f'{TWIN}\n__asm__(".globl aidge_vww__arena_bytes\\n.set aidge_vww__arena_bytes, 512"); void vww_run(void) {{}}'
    found = memory_findings(check(link(tmp_path, program(twin))))
    assert {finding["code"] for finding in found} <= {"MEM04"}


def test_the_template_of_thread_variables_has_no_bytes_of_its_own(tmp_path):
    """.tbss is a pattern: its addresses are those of what follows."""
    code = program("_Thread_local int each[64]; char *__aeabi_read_tp(void) { return 0; } void extra(void) { each[3]++; }")
    script = SCRIPT.replace(PLACED, "    .tbss 0x24000000 : { *(.tbss*) }\n" + PLACED)
    assert memory_findings(check(link(tmp_path, code, script))) == []


@pytest.mark.requirement("MEM02")
def test_a_symbol_that_was_moved_out_of_its_section_is_found(tmp_path):
    def move(content: bytearray, image: ELFFile) -> None:
        table = image.get_section_by_name(".symtab")
        (index,) = (index for index, symbol in enumerate(table.iter_symbols()) if symbol.name == "kws_arena")
        at = table["sh_offset"] + index * table["sh_entsize"] + 4
        (value,) = struct.unpack_from("<I", content, at)
        struct.pack_into("<I", content, at, value + 64)

    result = check(edited(link(tmp_path, program()), move))
    (finding,) = memory_findings(result)
    assert finding["code"] == "MEM02" and finding["text"].startswith(
        "arena kws_arena (0x24000040 to 0x2400023f) is not inside of its section .arenas (0x24000000 to 0x240001ff)"
    )


@pytest.mark.requirement("MEM13")
def test_an_elf_of_another_machine_is_found(tmp_path):
    def to_x86(content: bytearray, image: ELFFile) -> None:
        struct.pack_into("<H", content, 18, 3)

    result = check(edited(link(tmp_path, program()), to_x86))
    assert result.exit_code == 1
    assert [(finding["code"], finding["text"]) for finding in memory_findings(result)] == [
        ("MEM13", "model kws was generated for cortex-m7, the program is for 386")
    ]


@pytest.mark.parametrize(
    "claimed, built, is_found",
    [
        ("cortex-m4", "cortex-m7", False),
        ("cortex-m33+nodsp", "cortex-m33", False),
        ("", "cortex-m0", False),
        ("cortex-m3", "cortex-m0", True),
        ("cortex-m55+nomve", "cortex-m33", True),
    ],
)
def test_cores_of_one_architecture_run_the_same_code(tmp_path, claimed, built, is_found):
    elf = link(tmp_path, program(says=claim(cpu=claimed)), cpu=(f"-mcpu={built}", "-mthumb"))
    assert [finding["code"] for finding in memory_findings(check(elf))] == (["MEM13"] if is_found else [])


def test_a_generated_model_in_firmware_with_its_own_script_is_found_in_the_wrong_memory(tmp_path):
    """The whole way: the board of the plan is in the claim, the user's linker script knows nothing of it."""
    digits = ROOT / "examples" / "digits" / "digits.onnx"
    (tmp_path / "axi.toml").write_text('extends = "stm32h743"\narena = ["AXI"]\n')
    made = aidge_build("compile", digits, "--name", "kws", "--board", "axi", "--board-path", tmp_path, "--out", tmp_path)
    assert made.exit_code == 0, made.stderr
    code = (
        '#include "kws.h"\nint8_t in[KWS_INPUT_SIZE], out[KWS_OUTPUT_SIZE];\nextern char stack_top[];\n'
        "void Reset_Handler(void) { kws_run(in, out); for (;;); }\n"
        '__attribute__((section(".isr_vector"), used)) void *const vectors[2] = { stack_top, Reset_Handler };\n'
    )
    sources = (str(tmp_path / "kws.c"), str(tmp_path / "kws_weights.c"), f"-I{tmp_path}", "-lc", "-lgcc")
    cpu = ("-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard")
    plan = ("--plan", str(tmp_path / "kws.plan.json"))
    assert memory_findings(check(link(tmp_path, code, SCRIPT, *sources, cpu=cpu), *REGIONS, *plan)) == []
    result = check(link(tmp_path, code, SCRIPT.replace(PLACED, ""), *sources, cpu=cpu), *plan)
    assert result.exit_code == 1
    (finding,) = memory_findings(result)
    assert "the plan says AXI (0x24000000 to 0x2407ffff)" in finding["text"] and MISSING_LINE in finding["hint"]


@pytest.mark.parametrize(
    "there, regions, expected",
    [
        ("0x30000000", ["--region=AXI=0x30000000,0x80000"], "is at 0x30000000, the plan says AXI (0x24000000 to 0x2407ffff)"),
        ("0x30000000", ["--region=AXI=0x24000000,0x80000"], "in no memory of the board, the plan says AXI (0x24000000 to"),
        (
            "0x24000000",
            ["--region=AXI=0x24000000,511"],
            "in AXI and beyond its end, the plan says AXI (0x24000000 to 0x240001fe)",
        ),
        ("0x24000000", ["--region=AXI=0x24000000,512"], ""),
        ("0x24000000", ["--region=A=0x24000000,0x80000"], ""),
    ],
)
def test_an_arena_lies_in_the_memory_of_its_name_and_in_the_one_that_was_planned(tmp_path, there, regions, expected):
    elf = link(tmp_path, program(), SCRIPT.replace("AXI (rw) : ORIGIN = 0x24000000", f"AXI (rw) : ORIGIN = {there}"))
    others = [region for region in REGIONS if "AXI" not in region]
    found = [finding["text"] for finding in memory_findings(check(elf, *others, *regions)) if finding["code"] == "MEM02"]
    assert (len(found) == 1 and expected in found[0]) if expected else found == []


@pytest.mark.parametrize(
    ("regions", "name"),
    [
        ((Region("CCM", 0x10000000, 0x10000, "ram", (), script_name="CCMRAM"),), "CCMRAM"),
        ((Region("CCM", 0x10000000, 0x10000, "ram", ()),), "CCM"),
        ((Region("RAM", 0x20000000, 0x8000, "ram", ()), Region("CCMRAM", 0x10000000, 0x8000, "ram", ())), "CCMRAM"),
        ((), "CCM"),
    ],
)
def test_the_line_that_a_script_lacks_has_the_name_that_the_script_gives_the_memory(regions, name):
    part = ClaimedArena("net_arena", 100, "CCM", memory=(0x10000000, 0x10000))
    assert script_line(part, regions).endswith(f".aidge_CCM (NOLOAD) : {{ *(.bss.aidge_CCM .bss.aidge_CCM.*) }} > {name}")
