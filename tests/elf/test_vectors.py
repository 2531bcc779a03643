# SPDX-License-Identifier: MIT
"""Vector tables are found wherever a linker script puts them, and what they do not show is said."""

from __future__ import annotations

import pytest

from aidge_build.boards import load_board
from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.prove.elf import read_image, stack_use
from aidge_build.run.emulate import run_program
from aidge_build.run.toolchain import disassemble
from tests.command import aidge_build
from tests.elf.own_script import REGIONS, SCRIPT, link, program
from tests.programs import build, needs_cross_compiler, needs_qemu

pytestmark = needs_cross_compiler
# The fault handler of these programs holds 208 bytes of its own; 36 are what the core pushes without FPU.
DEEP = program().replace(
    "void Fault_Handler(void) { for (;;); }",
    '__attribute__((naked)) void Fault_Handler(void) { __asm__("push {r4, lr}\\n sub sp, #200\\n add sp, '
    '#200\\n pop {r4, pc}"); }',
)
DEEPEST = 36 + 208
VECTORS = "    .isr_vector : { KEEP(*(.isr_vector)) } > FLASH\n"
FOLDED = SCRIPT.replace(VECTORS, "").replace("{ *(.text*) }", "{ KEEP(*(.isr_vector)) *(.text*) *(.rodata*) }")
BEHIND_A_BOOT_BLOCK = FOLDED.replace("KEEP(*(.isr_vector))", ". = . + 256; KEEP(*(.isr_vector))").replace(
    "    .text :", "    .boot : { LONG(0x4b32b500) . = . + 252; } > FLASH\n    .text :"
)
AT_THE_END = FOLDED.replace(
    "KEEP(*(.isr_vector)) *(.text*) *(.rodata*)", "*(.text*) *(.rodata*) . = ALIGN(256); KEEP(*(.isr_vector))"
)


def use_of(elf):
    return stack_use(read_image(elf), read_disassembly(disassemble(elf)), ("kws_run",))


def findings(elf, *options: str) -> list[dict]:
    result = aidge_build("check", elf, *(options or REGIONS), "--json")
    return [finding for finding in result.json["findings"] if finding["code"] == "STK02"]


def test_a_section_of_two_words_is_a_table_and_one_of_a_word_is_none(tmp_path):
    code = DEEP[: DEEP.index('__attribute__((section(".isr_vector")')]
    for words, tables in (("0x20001000, Reset_Handler + 1", 1), ("0x20001000", 0)):
        table = f'__asm__(".section .isr_vector, \\"a\\"\\n.balign 256\\nvectors: .word {words}");'
        assert len(use_of(link(tmp_path, code + table, SCRIPT)).tables) == tables


@pytest.mark.parametrize(
    "script, address",
    [
        (SCRIPT, 0x08000000),
        (FOLDED, 0x08000000),
        (FOLDED.replace("KEEP", ". = . + 128; KEEP"), 0x08000080),
        (BEHIND_A_BOOT_BLOCK, 0x08000200),
        (AT_THE_END, None),
    ],
    ids=["section", "folded", "header", "boot block", "end"],
)
@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m7"])
def test_a_table_is_found_by_its_section_or_by_what_it_holds(tmp_path, script, address, core):
    elf = link(tmp_path, DEEP, script, cpu=(f"-mcpu={core}", "-mthumb"))
    address = address or read_image(elf).symbol("vectors").address
    use = use_of(elf)
    assert (use.tables, use.interrupt.bytes, use.unseen) == ((address,), DEEPEST, ())
    assert use.program.bytes is not None and use.program.path[0] == "Reset_Handler"
    assert not findings(elf)


def test_the_program_begins_where_the_core_does_whatever_the_linker_calls_its_entry(tmp_path):
    """-nostartfiles without ENTRY: the linker takes the begin of .text, where the table or any function may lie."""
    without = FOLDED.replace("ENTRY(Reset_Handler)\n", "")
    for script in (without, without.replace("KEEP(*(.isr_vector)) *(.text*)", "*(.text*) . = ALIGN(256); KEEP(*(.isr_vector))")):
        use = use_of(link(tmp_path, DEEP, script))
        assert use.program.path[0] == "Reset_Handler" and use.program.bytes is not None


def test_without_table_and_entry_the_finding_says_how_to_name_the_entry(tmp_path):
    code = program().replace('section(".isr_vector"), used', 'section(".data"), used')
    elf = link(tmp_path, code, FOLDED.replace("ENTRY(Reset_Handler)\n", "ENTRY(nowhere) nowhere = 0x08000300;\n"))
    program_finding, interrupt_finding = findings(elf)
    assert program_finding["text"] == "no stack bound: there is no code at the ELF's entry point 0x08000300"
    assert "-Wl,-e,Reset_Handler" in program_finding["hint"] and "ENTRY(Reset_Handler)" in program_finding["hint"]
    assert "there is no vector table in the program's constant memory" in interrupt_finding["text"]
    assert "the stack's top, the reset handler" in interrupt_finding["hint"]


LOOKALIKES = {
    "functions alone": "void (*const like[4])(void) = { one, two, one, two };",
    "no stack": "void (*const like[4])(void) = { 0, one, two, one };",
    "an odd stack": "const struct { int top; void (*each[3])(void); } like = { 0x20000109, { one, two, one } };",
    "a name in flash": "const struct { const char *name; void (*each[3])(void); } like = { (const char *)0x08000000, { one, two, "
    "one } };",
    "a pair inside": "void *const like[64] = { [32] = (void *)0x20000400, [33] = Reset_Handler };",
    "a driver": "const struct { int *top; void (*each[3])(void); } like = { (int *)0x20000400, { one, 0, two } };",
}


@pytest.mark.parametrize("name", LOOKALIKES)
def test_words_that_only_look_a_little_like_a_table_are_none(tmp_path, name):
    table = LOOKALIKES[name].replace(" like", " __attribute__((aligned(128), used)) like", 1)
    if "const like" in LOOKALIKES[name]:
        table = "__attribute__((aligned(128), used)) " + LOOKALIKES[name]
    code = program(f"void one(void) {{}} void two(void) {{}} void Reset_Handler(void);\n{table}")
    (address,) = use_of(link(tmp_path, code, FOLDED)).tables
    assert address == 0x08000000


def test_what_a_table_of_a_known_size_names_counts_even_where_no_symbol_says_that_it_is_a_function(tmp_path):
    handler = '__asm__(".text\\n.thumb\\n.balign 2\\nhidden: sub sp, #300\\n add sp, #300\\n bx lr"); extern char hidden[];'
    code = DEEP.replace("vectors[4]", "vectors[5]").replace("Fault_Handler }", "Fault_Handler, hidden + 1 }")
    use = use_of(link(tmp_path, code.replace("int main", f"{handler}\nint main"), FOLDED))
    assert use.interrupt.bytes == 36 + 300


def assembled(words: str) -> str:
    """The program with a table of assembler, whose size no symbol says."""
    code = DEEP[: DEEP.index('__attribute__((section(".isr_vector")')]
    return code + f'__asm__(".section .isr_vector, \\"a\\"\\n.balign 256\\nvectors: {words}");'


def test_a_table_of_no_known_size_ends_where_the_next_thing_begins_and_other_words_are_no_handlers(tmp_path):
    words = ".word stack_top, Reset_Handler, Fault_Handler, Fault_Handler, 0, 0x12345679, 0x08000009\\nbehind: .word kws_run"
    use = use_of(link(tmp_path, assembled(words), FOLDED))
    assert (use.interrupt.bytes, use.unseen) == (DEEPEST, ())


def test_labels_within_a_table_take_nothing_from_its_first_two_words(tmp_path):
    words = ".word stack_top\\nsecond: .word Reset_Handler\\nthird: .word Fault_Handler, Fault_Handler"
    use = use_of(link(tmp_path, assembled(words), FOLDED))
    assert use.program.path[0] == "Reset_Handler" and use.interrupt.bytes == 36


def test_of_several_tables_the_program_begins_at_that_of_the_entry(tmp_path):
    """A boot loader in the same ELF has its own, in front."""
    boot = "void Boot_Handler(void) { for (;;); } void Fault_Handler(void); extern char stack_top[];\n"
    table = (
        '__attribute__((section(".boot"), used)) void *const boot[4] = { stack_top, Boot_Handler, Fault_Handler, Fault_Handler };'
    )
    script = FOLDED.replace("KEEP(*(.isr_vector))", "KEEP(*(.boot)) . = ALIGN(256); KEEP(*(.isr_vector))")
    use = use_of(link(tmp_path, program(boot + table), script))
    assert use.tables == (0x08000100, 0x08000000) and use.program.path[0] == "Reset_Handler"


SET_VTOR = {
    "by a constant": "(*(volatile unsigned *)0xE000ED08) = (unsigned)ram_table;",
    "by a field": "((volatile unsigned *)0xE000ED00)[2] = (unsigned)ram_table;",
    "on a condition": "if (*(volatile int *)0x20000800) *(volatile unsigned *)0xE000ED08 = (unsigned)ram_table;",
}
RAM_TABLE = "__attribute__((aligned(128))) static volatile unsigned ram_table[64]; void extra(void) {{ ram_table[5] = 3; {} }}"


@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m7"])
@pytest.mark.parametrize("flags", ["-O0", "-O2"])
@pytest.mark.parametrize("how", SET_VTOR)
def test_a_table_that_moves_to_ram_is_said_to_be_unseen(tmp_path, how, flags, core):
    elf = link(tmp_path, program(RAM_TABLE.format(SET_VTOR[how])), SCRIPT, flags, cpu=(f"-mcpu={core}", "-mthumb"))
    (finding,) = findings(elf)
    assert finding["severity"] == "note"
    assert "handlers of interrupts that no vector table of the ELF names are not seen: extra+0x" in finding["text"]
    assert " sets VTOR to ram_table, in RAM" in finding["text"]
    text = aidge_build("check", elf, *REGIONS).stdout
    assert " B for an interrupt by the vector table at 0x08000000, others are not seen)" in text


IN_ASSEMBLER = {
    "by halves": ("movw r3, #0xed08\n movt r3, #0xe000\n ldr r0, =ram_table\n str r0, [r3]", "ram_table, in RAM"),
    "by a conditional store": (
        "ldr r3, =0xE000ED08\n ldr r0, =ram_table\n cmp r1, #0\n it ne\n strne r0, [r3]",
        "ram_table, in RAM",
    ),
    "beside a new stack": ("ldr r3, =0xE000ED08\n ldr r0, =ram_table\n msr msp, r1\n str r0, [r3]", "ram_table, in RAM"),
    "from a stack": ("ldr r3, =0xE000ED08\n mov r0, sp\n str r0, [r3]", "an address that is not known"),
    "from a function": ("ldr r4, =0xE000ED08\n ldr r0, =vectors\n bl kws_run\n str r0, [r4]", "an address that is not known"),
}


@pytest.mark.parametrize("how", IN_ASSEMBLER)
def test_start_up_code_in_assembler_is_read_too(tmp_path, how):
    text, said = IN_ASSEMBLER[how]
    lines = text.replace("\n", "\\n")
    code = program(f'int ram_table[64]; __attribute__((naked)) void extra(void) {{ __asm__("{lines}\\n bx lr\\n .ltorg"); }}')
    (unseen,) = [place for place in use_of(link(tmp_path, code)).unseen if "VTOR" in place]
    assert unseen.endswith(f" sets VTOR to {said}")


def test_a_table_whose_address_comes_from_elsewhere_is_unseen_too(tmp_path):
    code = program(
        "void move(unsigned to) { *(volatile unsigned *)0xE000ED08 = to; } volatile unsigned n; void extra(void) { move(n); }"
    )
    assert "sets VTOR to an address that is not known" in findings(link(tmp_path, code))[0]["text"]


EVERY_WAY = """
__attribute__((aligned(128))) unsigned ram_table[64];
typedef volatile unsigned reg;
__attribute__((noinline)) void write(reg *place, unsigned value) { *place = value; }
struct block { unsigned first, second, vtor; };
__attribute__((noinline)) void fill(volatile struct block *block, unsigned value) { block->vtor = value; }
const struct { unsigned place, value; } set_up[] = { { 0xE000ED88, 1 }, { 0xE000ED08, (unsigned)ram_table } };
volatile int count = 2;
reg *first_place = (reg *)0xE002ED08;
reg *volatile later_place;
void by_a_function(void) { write((reg *)0xE000ED08, (unsigned)ram_table); count++; }
void by_a_last_call(void) { fill((void *)0xE000ED00, (unsigned)ram_table); }
void by_another_block(void) { fill((void *)0xE002ED00, (unsigned)ram_table); count++; }
void by_a_list(void) { for (int i = 0; i < count; i++) *(reg *)set_up[i].place = set_up[i].value; }
void by_a_variable(void) { *first_place = (unsigned)ram_table; }
void by_a_late_variable(void) { later_place = (reg *)0xE000ED08; }
void by_a_loop(void) { for (char *to = (char *)0xE000ED08; count; count--) *to++ = (char)count; }
void by_its_other_name(void) { *(reg *)0xE002ED08 = (unsigned)ram_table; }
#define BY_HAND(name, text) __attribute__((naked)) void name(void) { __asm__(text "\\n bx lr\\n .ltorg"); }
BY_HAND(by_parts, "mov r3, #0xE0000000\\n add r3, #0xE000\\n add r3, #0xD00\\n ldr r0, =ram_table\\n str r0, [r3, #8]")
BY_HAND(by_an_index, "ldr r3, =0xE000ED00\\n mov r2, #8\\n ldr r0, =ram_table\\n str r0, [r3, r2]")
BY_HAND(by_a_pair, "ldr r3, =0xE000ED04\\n ldr r0, =ram_table\\n strd r2, r0, [r3]")
BY_HAND(by_a_block, "ldr r3, =0xE000ED04\\n ldr r1, =ram_table\\n stm r3!, {r0, r1}")
BY_HAND(by_a_block_below, "ldr r3, =0xE000ED0C\\n ldr r0, =ram_table\\n stmdb r3, {r0}")
BY_HAND(by_two_steps, "ldr r3, =0xE000ED04\\n ldr r1, =ram_table\\n str r0, [r3], #4\\n str r1, [r3], #4")
BY_HAND(by_a_complement, "ldr r3, =0x1FFF12F7\\n mvn r3, r3\\n ldr r0, =ram_table\\n str r0, [r3]")
BY_HAND(by_a_shift, "ldr r3, =0x0E000ED0\\n lsl r3, r3, #4\\n orr r3, r3, #8\\n ldr r0, =ram_table\\n str r0, [r3]")
BY_HAND(by_a_product, "ldr r3, =0x1C001DA1\\n mov r2, #8\\n mul r3, r3, r2\\n ldr r0, =ram_table\\n str r0, [r3]")
BY_HAND(by_a_step_before, "ldr r3, =0xE000EC08\\n ldr r0, =ram_table\\n str r0, [r3, #255]!\\n str r0, [r3, #1]")
void by_a_late_index(void) { ((reg *)0xE000ED00)[count] = 3; }
void by_an_index_from_below(void) { ((reg *)0xE000ED00)[count - 1] = 3; }
void by_a_place_in_the_space(void) { *(reg *)(0xE000E000 + count) = 3; }
void by_a_kept_place(void) { reg *volatile to = (reg *)0xE000ED00 + count; *to = 3; }
void by_its_last_byte(void) { ((volatile char *)0xE000ED0B)[count] = 3; }
void by_its_other_block(void) { ((volatile char *)0xE002ED00)[count] = 3; }
reg *const keep[] = { &count, (reg *)ram_table };
void *const used[] = { by_another_block,
                       by_a_function, by_a_last_call, by_a_list, by_a_variable, by_a_late_variable, by_a_loop, by_its_other_name,
                       by_parts, by_an_index, by_a_pair, by_a_block, by_a_block_below, by_two_steps,
                       by_a_complement, by_a_shift, by_a_product, by_a_step_before, by_a_late_index, by_an_index_from_below,
                       by_a_place_in_the_space, by_a_kept_place, by_its_last_byte, by_its_other_block };
void extra(void) { write((reg *)used[count], 1); write(keep[count], 1); }
"""
SEEN = {
    "by_a_function": "gives VTOR's address to write",
    "by_a_last_call": "gives VTOR's address to fill",
    "by_another_block": "gives VTOR's address to fill",
    "set_up": "holds VTOR's address",
    "first_place": "holds VTOR's address",
    "by_a_late_variable": "keeps VTOR's address",
    "by_a_loop": "takes VTOR's address",
    **{
        name: "sets VTOR to ram_table, in RAM"
        for name in (
            "by_its_other_name",
            "by_parts",
            "by_an_index",
            "by_a_pair",
            "by_a_block",
            "by_a_block_below",
            "by_two_steps",
            "by_a_complement",
            "by_a_shift",
            "by_a_product",
            "by_a_step_before",
        )
    },
    **{
        name: "stores at an index that is not known, which VTOR may have"
        for name in (
            "by_a_late_index",
            "by_an_index_from_below",
            "by_a_place_in_the_space",
            "by_a_kept_place",
            "by_its_last_byte",
            "by_its_other_block",
        )
    },
}


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_every_way_to_the_register_is_seen_or_said_to_be_possible(tmp_path, flags):
    unseen = use_of(link(tmp_path, program(EVERY_WAY), SCRIPT, flags, "-fno-tree-loop-distribute-patterns")).unseen
    said = {place.split("+")[0].split(" ")[0]: place.split(" ", 1)[1] for place in unseen}
    by_a_list = said.pop("by_a_list", "")  # the compiler may know what is in the list
    assert said == SEEN and by_a_list in ("", "sets VTOR to ram_table, in RAM")


def test_what_reads_the_register_or_sets_its_neighbours_moves_nothing(tmp_path):
    code = program(
        "typedef volatile unsigned reg; volatile int n; void give(reg *place) { n = (int)*place; } unsigned base;\n"
        "void extra(void) { ((reg *)0xE000E100)[n] = 1; *(reg *)0xE000ED88 = 3; *(reg *)0xE000ED0C = 0x05FA0000;\n"
        "base = *(reg *)0xE000ED08; give((reg *)0xE000ED14); ((volatile unsigned char *)0xE000ED18)[n] = 4; }"
    )
    priorities = "volatile int n; struct block { volatile unsigned before[6], priorities[3]; };\n" + program(
        '__attribute__((naked)) void other(void) { __asm__("ldr r3, =0xE000ED00\\n add r0, r1\\n add r0, r3\\n bl kws_run\\n"'
        '"str r1, [r0]\\n bx lr\\n .ltorg"); } void (*const used)(void) = other;\n'
        "void extra(void) { if (n) used(); for (int i = 0; i < n; i++) {\n"
        "volatile unsigned *all = ((struct block *)0xE000ED00)->priorities;\n"
        "all[(((unsigned)n & 15) - 8) >> 2] |= n; ((struct block *)0xE000ED00)->priorities[((n & 15u) - 8) >> 2] = n;\n"
        "((volatile unsigned char *)0xE000ED18)[(n & 15u) - 4] = 4; ((volatile unsigned *)0xE000E400)[n >> 2] = 3;\n"
        "((volatile unsigned char *)0xE000E5EF)[n] = 1; ((volatile unsigned char *)0xE000ED0C)[n] = 1;\n"
        "((volatile unsigned char *)0xE000DFFF)[n] = 1; ((volatile unsigned char *)0xE000E010)[n] = 1; } }"
    )
    for flags in ("-O0", "-O2"):
        assert use_of(link(tmp_path, code, SCRIPT, flags)).unseen == ()
        for core in ("cortex-m0plus", "cortex-m7"):
            assert use_of(link(tmp_path, priorities, SCRIPT, flags, cpu=(f"-mcpu={core}", "-mthumb"))).unseen == ()


@pytest.mark.parametrize("moves", ["", "*(volatile unsigned *)0xE000ED08 = (unsigned)table;"])
def test_a_table_that_lies_in_ram_from_the_begin_is_seen_and_said_to_be_writable(tmp_path, moves):
    code = program(
        '__attribute__((naked)) void Large_Handler(void) { __asm__("sub sp, #3000\\n add sp, #3000\\n bx lr"); } '
        "void Reset_Handler(void); volatile int n;\n"
        "__attribute__((aligned(128))) void *table[32] = { (void *)0x20010000, Reset_Handler, Large_Handler, Large_Handler };\n"
        f"void extra(void) {{ table[n] = 0; {moves} }}"
    )
    use = use_of(link(tmp_path, code))
    assert "table in RAM looks like a vector table" in use.unseen
    assert use.interrupt.bytes == (36 + 3000 if moves else 36)


@pytest.mark.parametrize("top, is_table", [("stack_top", True), ("(char *)0x20000400", False)])
def test_a_few_words_in_ram_are_a_table_only_with_the_stack_of_one(tmp_path, top, is_table):
    words = f"__attribute__((aligned(128))) void *few[4] = {{ {top}, one, two, one }};"
    code = program(
        f"extern char stack_top[]; void one(void) {{}} void two(void) {{}} {words} void extra(void) {{ few[1] = two; }}"
    )
    assert use_of(link(tmp_path, code)).unseen == (("few in RAM looks like a vector table",) if is_table else ())


def test_a_place_for_a_table_that_a_linker_script_keeps_is_named(tmp_path):
    line = "    .bss : { *(.bss*) } > DTCM\n"
    for kept, said in (
        ("    .ram_vectors (NOLOAD) : { . += 64; } > DTCM\n", "ram_vectors in RAM looks like a vector table"),
        ("    .kept (NOLOAD) : { __VECTOR_RAM = .; . += 256; } > DTCM\n", "__VECTOR_RAM in RAM looks like a vector table"),
    ):
        assert use_of(link(tmp_path, program(), SCRIPT.replace(line, kept + line))).unseen == (said,)
    small = "    .ram_vectors (NOLOAD) : { . += 63; } > DTCM\n"
    assert use_of(link(tmp_path, program(), SCRIPT.replace(line, small + line))).unseen == ()


def test_start_up_code_that_sets_the_register_to_the_table_in_flash_moves_nothing(tmp_path):
    code = program("extern void *const vectors[]; void extra(void) { *(volatile unsigned *)0xE000ED08 = (unsigned)vectors; }")
    elf = link(tmp_path, code)
    assert use_of(elf).unseen == () and not findings(elf)
    assert "for an interrupt)" in aidge_build("check", elf, *REGIONS).stdout


@pytest.mark.parametrize("name", ["ram_vector_table", "__vectors_ram", "g_pfnRAMVectors", "__VECTOR_RAM"])
def test_a_variable_that_looks_like_a_table_is_named(tmp_path, name):
    elf = link(tmp_path, program(f"void (*volatile {name}[48])(void); void extra(void) {{ {name}[2] = extra; }}"))
    assert f"{name} in RAM looks like a vector table" in findings(elf)[0]["text"]


@pytest.mark.parametrize(
    "variable",
    [
        "int vectors_of_weights[48]",
        "int ramp_vector[48]",
        "int parameters[48]",
        "int ram_vectors[2]",
        "const int ram_vectors[48] = {1}",
    ],
)
def test_other_variables_are_not(tmp_path, variable):
    name = variable.removeprefix("const ").removeprefix("int ").partition("[")[0]
    elf = link(tmp_path, program(f"{variable}; volatile int n; void extra(void) {{ n = {name}[n]; }}"))
    assert use_of(elf).unseen == ()


def test_an_entry_of_the_table_that_leads_out_of_the_program_costs_no_bound(tmp_path):
    """Some chips want a check sum in a reserved entry, or have handlers in ROM."""
    code = DEEP.replace("vectors[4]", "vectors[8]").replace("Fault_Handler }", "Fault_Handler, 0, 0, 0, (void *)0x7fff6ffd }")
    use = use_of(link(tmp_path, code))
    assert use.interrupt.bytes == DEEPEST
    assert use.unseen == ("the vector table names 0x7fff6ffc, which is not in the program",)


def test_a_table_in_flash_that_start_up_code_chooses_is_seen(tmp_path):
    code = program(
        '__attribute__((naked)) void Late_Handler(void) { __asm__("sub sp, #400\\n add sp, #400\\n bx lr"); } '
        "void Reset_Handler(void);\n"
        "__attribute__((aligned(128))) void (*const late[5])(void) = { 0, 0, Late_Handler, 0, Late_Handler };\n"
        "void extra(void) { *(volatile unsigned *)0xE000ED08 = (unsigned)late; }"
    )
    elf = link(tmp_path, code)
    use = use_of(elf)
    assert use.tables == (0x08000000, read_image(elf).symbol("late").address)
    assert (use.interrupt.bytes, use.unseen) == (36 + 400, ())


@needs_qemu
def test_the_frame_of_an_interrupt_is_what_a_core_without_fpu_pushes(tmp_path):
    """The stack pointer is no multiple of 8 when the interrupt comes, so that the core fills up with a word: 36 bytes."""
    code = (
        '__attribute__((naked)) void PendSV_Handler(void) { __asm__("sub sp, #196\\n push {r4}\\n pop {r4}\\n '
        'add sp, #196\\n bx lr"); }\n'
        "__attribute__((aligned(128))) void (*const late[16])(void) = { [14] = PendSV_Handler };\n"
        '__attribute__((naked, noinline)) int probe(void) { __asm__("sub sp, #300\\n ldr r0, =0xE000ED04\\n '
        'ldr r1, =0x10000000\\n"\n'
        '" str r1, [r0]\\n dsb\\n isb\\n add sp, #300\\n bx lr\\n .ltorg"); }\n'
        "int main(void) { *(volatile unsigned *)0xE000ED08 = (unsigned)late; probe(); return 0; }"
    )
    elf = build("mps2-an385", code, tmp_path)
    used = run_program(elf, load_board("mps2-an385"), work_folder=tmp_path, emulator="qemu").stack_high_water_bytes
    use = use_of(elf)
    assert use.interrupt.bytes == 36 + 200 and use.program.path[-1] == "probe"
    assert used == use.program.bytes + use.interrupt.bytes
