# SPDX-License-Identifier: MIT
"""The bound of the stack of RISC-V programs: exact for small functions, never below the use, and refused without a proof."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from aidge_build.boards import load_board
from aidge_build.prove.elf import read_image
from aidge_build.prove.elf.deepest import StackBound, bound_of
from aidge_build.prove.elf.riscv_stack import riscv_stack_use
from aidge_build.prove.elf.riscv_walk import RiscvCode, walk
from aidge_build.prove.elf.stack_proof import _hint
from aidge_build.run.emulate import run_program
from tests.elf.riscv_stack_attacks import FUNCTIONS_THAT_ATTACK, HANDLERS_THAT_ATTACK, ONCE_WRONG, assembled
from tests.elf.stack_attacks import COMMON, attacks, main
from tests.programs import build, needs_riscv

pytestmark = needs_riscv
BOARD = "qemu_riscv32"

# Each function by its name: its assembly, and the bytes that a person counts or a part of the reason why there is no bound.
FUNCTIONS: dict[str, tuple[str, int | str]] = {
    "leaf16": ("addi sp, sp, -16; sw s0, 12(sp); lw s0, 12(sp); addi sp, sp, 16; ret", 16),
    "calls": ("addi sp, sp, -32; sw ra, 28(sp); call leaf16; lw ra, 28(sp); addi sp, sp, 32; ret", 48),
    "calls_far": ("addi sp, sp, -32; sw ra, 28(sp); la t1, leaf16; jalr t1; lw ra, 28(sp); addi sp, sp, 32; ret", 48),
    "tail": ("addi sp, sp, -32; addi sp, sp, 32; tail leaf16", 32),
    "large": ("li t0, 5000; sub sp, sp, t0; add sp, sp, t0; ret", 5000),
    "rounded": ("addi s1, sp, 0; andi sp, sp, -16; addi sp, sp, -16; mv sp, s1; ret", 31),
    "framed": ("addi sp, sp, -16; sw s0, 8(sp); addi s0, sp, 16; addi sp, s0, -16; lw s0, 8(sp); addi sp, sp, 16; ret", 16),
    "below": ("sw a0, -64(sp); ret", 64),
    "saves": ("addi sp, sp, -16; sw ra, 12(sp); sw s0, 8(sp); jr t0", "an indirect jump"),
    "restores": ("lw s0, 8(sp); lw ra, 12(sp); addi sp, sp, 16; ret", "an indirect jump"),
    "saved_by_another": ("jal t0, saves; addi sp, sp, -32; call leaf16; addi sp, sp, 32; j restores", 64),
    "setjmp_like": ("sw sp, 0(a0); sw ra, 4(a0); li a0, 0; ret", 0),
    "for_ever": ("addi sp, sp, -48; 1: j 1b", 48),
    "cycle_a": ("j cycle_b", 0),
    "cycle_b": ("j cycle_a", 0),
    "trap": ("unimp", 0),
    "by_data": ("sub sp, sp, a0; add sp, sp, a0; ret", "the frame's size depends on data, at by_data"),
    "loads_sp": ("lw sp, 8(a0); ret", "the stack pointer is set by 'lw'"),
    "swaps_sp": ("csrrw sp, mscratch, sp; ret", "the stack pointer is set by 'csrrw'"),
    "moves_sp": ("li sp, 0x81000800; ret", "the stack pointer is set to a fixed address"),
    "leaves_some": ("addi sp, sp, -64; ret", "with 64 bytes left on the stack"),
    "deepening": ("addi sp, sp, -16; bnez a0, deepening; addi sp, sp, 16; ret", "depends on the way that leads there"),
    "into_the_middle": ("addi sp, sp, -16; j leaf16 + 12", 16),
    "wrongly_into_the_middle": ("addi sp, sp, -32; j leaf16 + 12", "with 16 bytes left on the stack"),
    "recursion": ("addi sp, sp, -16; sw ra, 12(sp); la t1, recursion; jalr t1; lw ra, 12(sp); addi sp, sp, 16; ret", "recursion"),
    "by_argument": ("addi sp, sp, -16; sw ra, 12(sp); jalr a0; lw ra, 12(sp); addi sp, sp, 16; ret", "an indirect call"),
    "returns_elsewhere": ("lw ra, 0(a0); ret", "an indirect jump"),
    "overwrites_ra": (
        "addi sp, sp, -16; sw ra, 12(sp); mv a1, sp; sb a0, 13(a1); lw ra, 12(sp); addi sp, sp, 16; ret",
        "an indirect",
    ),
    "loses_s0": ("li s0, 0; ret", 0),
    "trusts_s0": ("sw ra, -4(sp); mv s0, sp; call loses_s0; mv sp, s0; lw ra, -4(sp); ret", "depends on data"),
    "compares_s0": ("li a1, 4; bltu s0, a1, 1f; nop; 1: ret", 0),
    "trusts_compared_s0": ("sw ra, -4(sp); mv s0, sp; call compares_s0; mv sp, s0; lw ra, -4(sp); ret", 4),
    "keeps_ra_in_t0": ("mv t0, ra; call leaf16; jr t0", 16),
    "writes_t0": ("li t0, 0; ret", 0),
    "trusts_t0": ("mv t0, ra; call writes_t0; jr t0", "an indirect jump"),
    "table_in_code": (
        "slli a0, a0, 2; la t1, 9f; add t1, t1, a0; lw t1, 0(t1); jr t1; 1: addi sp, sp, -16; addi sp, sp, 16; ret; "
        "2: addi sp, sp, -48; addi sp, sp, 48; ret; 9: .word 1b; .word 2b",
        48,
    ),
    "number_in_memory": ("la t1, 9f; lw a1, 0(t1); beqz a1, 1f; addi sp, sp, -64; addi sp, sp, 64; 1: ret; 9: .word 0", 64),
    "number_in_code": ("li a1, 4; li a2, 5; bltu a1, a2, 1f; addi sp, sp, -64; addi sp, sp, 64; 1: ret", 0),
    "spilled_pointer": (
        "addi sp, sp, -16; sw ra, 12(sp); la t1, leaf16; sw t1, 4(sp); sb a2, 0(a1); lw t1, 4(sp); jalr t1; lw ra, 12(sp); "
        "addi sp, sp, 16; ret",
        32,
    ),
    "changed_pointer": (
        "addi sp, sp, -16; sw ra, 12(sp); la t1, leaf16; sw t1, 4(sp); add a1, sp, a0; sb a2, 0(a1); lw t1, 4(sp); jalr t1; "
        "lw ra, 12(sp); addi sp, sp, 16; ret",
        "an indirect call",
    ),
    "restarts_stack": ("li sp, 0x81001000; ret", "the stack pointer is set to a fixed address"),
    "boots_somewhere": ("lui sp, 0x81001; add sp, sp, a0; ret", "the stack pointer is set to a fixed address"),
    "table_of_two": (
        "li a1, 1; bltu a1, a0, 1f; slli a0, a0, 2; la t1, 9f; add t1, t1, a0; lw t1, 0(t1); jr t1; 9: .word 1f; .word 2f; "
        ".word 3f; 1: ret; 2: addi sp, sp, -48; addi sp, sp, 48; ret; 3: addi sp, sp, -480; addi sp, sp, 480; ret",
        48,
    ),
    "table_of_two_by_one_sum": (
        ".option arch, +zba; li a1, 1; bltu a1, a0, 1f; la t1, 9f; sh2add a0, a0, t1; lw t1, 0(a0); jr t1; 9: .word 1f; "
        ".word 2f; .word 3f; 1: ret; 2: addi sp, sp, -48; addi sp, sp, 48; ret; 3: addi sp, sp, -480; addi sp, sp, 480; ret",
        48,
    ),
    "table_below_two": (
        "li a1, 2; bgeu a0, a1, 1f; slli a0, a0, 2; la t1, 9f; add t1, t1, a0; lw t1, 0(t1); jr t1; 9: .word 1f; .word 2f; "
        ".word 3f; 1: ret; 2: addi sp, sp, -48; addi sp, sp, 48; ret; 3: addi sp, sp, -480; addi sp, sp, 480; ret",
        48,
    ),
    "table_of_distances": (
        "andi a0, a0, 1; slli a0, a0, 2; la t1, 9f; add a0, t1, a0; lw a0, 0(a0); add a0, a0, t1; jr a0; "
        "9: .word 1f - 9b; .word 2f - 9b; .word 3f - 9b; 1: ret; 2: addi sp, sp, -48; addi sp, sp, 48; ret; "
        "3: addi sp, sp, -480; addi sp, sp, 480; ret",
        48,
    ),
    "table_that_leads_away": (
        "li a1, 2; bgeu a0, a1, 1f; slli a0, a0, 2; la t1, 9f; add t1, t1, a0; lw t1, 0(t1); jr t1; 9: .word 1f; "
        ".word leaf16; 1: ret",
        "does not lead into its function alone",
    ),
    "table_with_the_end": (
        "slli a0, a0, 2; la t1, 9f; add t1, t1, a0; lw t1, 0(t1); jr t1; 9: .word 1f; .word 8f; .word 2f; 1: ret; "
        "2: addi sp, sp, -48; addi sp, sp, 48; ret; 8:",
        48,
    ),
    "keeps_gp": ("mv a1, gp; mv gp, a1; ret", 0),
    "prints": ("slli zero, zero, 31; ebreak; srai zero, zero, 7; addi sp, sp, -16; addi sp, sp, 16; ret", 16),
    "breaks": ("ebreak; addi sp, sp, -16; ret", 0),
    "asks": ("ecall; ret", "a supervisor call"),
    "returns_from_trap": ("mret", "'mret', which leads to an address that is not known"),
    "custom": (".word 0x0000000b; ret", "an instruction of an extension that is not read at custom"),
    "pushes": (".half 0xb842; ret", "an instruction of an extension that is not read at pushes"),
    "changes_gp": ("li gp, 0; ret", "the global pointer is changed at changes_gp"),
}
# The same for functions in C; bytes are of gcc 12.2 at -O2, None: they are not counted here.
IN_C: dict[str, tuple[str, int | str | None]] = {
    "c_alloca": ("int c_alloca(int k) { volatile char *p = __builtin_alloca(k); p[0] = 1; return p[0]; }", "depends on data"),
    "c_array": ("int c_array(int k) { volatile char p[k]; p[0] = 1; return p[0]; }", "depends on data"),
    "c_pointer": ("int (*volatile to)(int) = deep; int c_pointer(int k) { return to(k) + 1; }", "an indirect call"),
    "c_constant": ("static int (*const to_deep)(int) = deep; int c_constant(int k) { return to_deep(k) + 1; }", None),
    "c_weak": ("__attribute__((weak)) int absent(int); int c_weak(int k) { return (absent ? absent(k) : 0) + deep(k); }", None),
    "c_longjmp": ("extern void *kept[5]; void c_longjmp(void) { __builtin_longjmp(kept, 1); } void *kept[5];", "is set by 'lw'"),
    "c_switch": (
        "int c_switch(int k) { switch (k) { case 0: return leaf(1); case 1: return deep(4); case 2: return 77 * n; case 3: "
        "return leaf(9); case 4: return n; case 5: return 12 + leaf(n); case 6: return deep(n); default: return 3; } }",
        None,
    ),
    "c_goto": (
        "int c_goto(int k) { static const void *const to[] = { &&a, &&b, &&c }; goto *to[k]; a: return leaf(k); b: return "
        "deep(k); c: return n; }",
        None,
    ),
}
EVERYTHING = (
    COMMON
    + """
#include <stdarg.h>
#include <string.h>
struct s { int v[40]; };
KEPT struct s by_value(struct s a) { a.v[n] = deep(a.v[1]); return a; }
KEPT int several(int k, ...)
{ va_list l; int s = 0; va_start(l, k); while (k--) s += va_arg(l, int); va_end(l); return deep(s); }
KEPT int chosen(int k)
{ switch (k) { case 0: return 3; case 1: return leaf(4); case 2: return 77; case 3: return deep(9); case 4: return 11; case 5:
  return 12 * leaf(1); case 6: return leaf(14); case 7: return n; default: return 2; } }
KEPT int large(int k) { volatile char b[2500]; b[k * 600] = 1; return chosen(b[k]) + deep(k); }
KEPT int many(int a, int b, int c, int d, int e, int f, int g, int h, int i)
{ int x = leaf(a), y = leaf(b), z = leaf(c); return x * y + z * leaf(d) + leaf(e) * f + g * x + h * y + i * z; }
static int (*const pointer)(int) = large;
"""
    + main(
        "struct s a = {{1}}; a = by_value(by_value(a)); n = 3; for (int i = 0; i < 9; i++) chosen(i); "
        "n = several(4, 1, 2, 3, 4) + pointer(1) + many(1, 2, 3, 4, 5, 6, 7, 8, 9) + (int)(n * 1.5); n = 3;"
    )
)
# What gcc is told, and the bytes of the bound that are not used: of the registers that are saved, most are only reserved.
FLAGS = (
    ("-O0",),
    ("-O1", "-fno-omit-frame-pointer"),
    ("-O2", "-march=rv32imac", "-mcmodel=medany"),
    ("-Os", "-msave-restore"),
    ("-O2", "-march=rv32i"),
    ("-O2", "-march=rv32emac", "-mabi=ilp32e"),
    ("-O1", "-fno-jump-tables", "-mcmodel=medany"),
    ("-O3", "-msave-restore", "-fno-omit-frame-pointer", "-fstack-clash-protection"),
)
# The attacks on any core; a fixed sample, and all of them with AIDGE_STRESS=1 (`./sconsw stress`).
IN_C_FOR_ALL = [one for one in attacks() if "asm" not in one.code and not one.interrupt and "-m" not in " ".join(one.flags)]
SAMPLE = ("computed gotos of a table with a hole", "longjmp", *ONCE_WRONG)
ATTACKS = [
    one
    for one in (*IN_C_FOR_ALL, *FUNCTIONS_THAT_ATTACK, *HANDLERS_THAT_ATTACK)
    if os.environ.get("AIDGE_STRESS") or one.name in SAMPLE
]
# Start-up code, and what an interrupt adds then. Handlers: one for all traps, and one of a table with a jump for each interrupt.
HANDLERS = {
    "la t0, handler; csrw mtvec, t0": 112,
    "la t0, table; ori t0, t0, 1; csrw mtvec, t0": 112,
    "la t0, table; ori t0, t0, 3; csrw mtvec, t0": "gives mtvec a mode of its core alone",
    "la t0, handler; ori t0, t0, 1; csrw mtvec, t0": "is no jump",
    "lw t0, 0(sp); csrw mtvec, t0": "lets traps lead to an address that is not known",
    "la t0, handler; csrw stvec, t0": "lets traps lead to an address that is not known",
    "la t0, forgetful; csrw mtvec, t0": "forgetful does not hand back",
    "la t0, careless; csrw mtvec, t0": "careless does not hand back a0 as it found them",
    "la t0, handler; csrw 0x307, t0": "lets traps lead to an address that is not known",
    "la t0, nested; csrw mtvec, t0": "nested may let interrupts in while one is handled",
    "la t0, closing; csrw mtvec, t0": 112,
    "la t0, saving; csrw mtvec, t0": 112,
    "la t0, skipping; csrw mtvec, t0": "skipping+0x6 may make a trap return elsewhere",
    "la t0, leading; csrw mtvec, t0": "leading+0x8 may make a trap return elsewhere",
    "la t0, handler; csrw mtvec, t0; csrsi mstatus, 8": 112,
    "nop": 0,
    "csrsi mstatus, 8": "may let interrupts in, and no code writes the address of their handler to mtvec",
    "la t0, longer; ori t0, t0, 1; csrw mtvec, t0": "the entry 12 of the table in mtvec at longer is no jump",
    "la t0, unnamed; ori t0, t0, 1; csrw mtvec, t0": "the entry 12 of the table in mtvec at holding+0x30 is no jump",
    "la t0, filled; ori t0, t0, 1; csrw mtvec, t0": 112,
}
JUMPS, KEPT = "j handler; " * 12, "addi sp, sp, -112; {}; addi sp, sp, 112; mret"
OF_HANDLERS = {
    "handler": KEPT.format("sw a0, 4(sp); li a0, 7; lw a0, 4(sp)"),
    "careless": "li a0, 7; mret",
    "forgetful": "li sp, 0x81001000; mret",
    "nested": "csrsi mstatus, 8; mret",
    "closing": KEPT.format("csrci mstatus, 8; csrw mstatus, zero"),
    "saving": KEPT.format("sw t0, 4(sp); csrr t0, mepc; sw t0, 8(sp); lw t0, 8(sp); csrw mepc, t0; lw t0, 4(sp)"),
    "skipping": "csrr t0, mepc; addi t0, t0, 4; csrw mepc, t0; mret",
    "leading": "la t0, handler; csrw mepc, t0; mret",
    "table": f".option norvc; {JUMPS}",
    "longer": f".option norvc; {JUMPS}li a0, 1",
    "holding": f".option norvc; {JUMPS}unnamed: {JUMPS}li a0, 1; ret; filled: {JUMPS}nop",
}


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """A program with all functions above. Its own code does without gp."""
    begin = '__asm__(".option norvc; .globl __global_pointer$; .set __global_pointer$, 0x81001800");'
    by_hand = "".join(assembled(name, lines) for name, (lines, _) in FUNCTIONS.items())
    text = f"{begin}\n{by_hand}{COMMON}{''.join(code for code, _ in IN_C.values())}{main('leaf(n);')}"
    return read_image(
        build(BOARD, text, tmp_path_factory.mktemp("functions"), flags=("-O2", "-fno-function-sections", "-Wl,--no-relax"))
    )


@pytest.fixture(scope="module")
def runs(image):
    """The bounds of its functions."""
    return riscv_stack_use(image, (*FUNCTIONS, *IN_C)).runs


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_the_bytes_that_a_person_counts_or_a_reason_for_none(runs, name):
    require(runs[name], FUNCTIONS[name][1])


def require(bound: StackBound, wanted: int | str) -> None:
    """The bound has these bytes, or the wanted reason with a hint of its own."""
    assert wanted == bound.bytes if isinstance(wanted, int) else wanted in bound.reason
    assert isinstance(wanted, int) or _hint(bound)


@pytest.mark.parametrize("name", IN_C)
def test_a_function_in_c_has_a_bound_or_a_reason_for_none(runs, name):
    wanted = IN_C[name][1]
    assert wanted in runs[name].reason if isinstance(wanted, str) else runs[name].bytes >= 600


def test_start_up_code_begins_the_stack_at_one_known_address(image):
    booted = bound_of(walk, RiscvCode(image), image.symbol("boots_somewhere").address, is_root=True)
    assert booted.bytes is None and "set to a fixed address" in booted.reason
    assert bound_of(walk, RiscvCode(image), image.symbol("restarts_stack").address, is_root=True).bytes == 0


@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
def test_a_program_uses_no_more_than_its_bound(tmp_path, flags):
    elf = build(BOARD, EVERYTHING, tmp_path, flags=flags)
    use = riscv_stack_use(read_image(elf), ())
    result = run_program(elf, load_board(BOARD), work_folder=tmp_path)
    assert result.exit_code == 0 and use.program.reason == ""
    assert 3000 < result.stack_high_water_bytes <= use.program.bytes <= result.stack_high_water_bytes + 64
    assert use.begin == 0x81001000 and use.reserved_bytes == 4096


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda one: one.name)
def test_an_attack_uses_no_more_than_its_bound_or_has_a_reason_for_none(tmp_path, attack):
    elf = build(BOARD, attack.text, tmp_path, flags=(*attack.flags, "-Wl,--no-warn-rwx-segments"))
    use = riscv_stack_use(read_image(elf), ())
    bounds = [use.program, *([use.interrupt] if attack.interrupt else [])]
    reasons = "".join(bound.reason for bound in bounds)
    if attack.refusal:
        assert None in [bound.bytes for bound in bounds] and (attack in IN_C_FOR_ALL or attack.refusal in reasons)
        return
    result = run_program(elf, load_board(BOARD), work_folder=tmp_path)
    assert result.exit_code == 0 and reasons == "" and result.stack_high_water_bytes <= sum(bound.bytes for bound in bounds)


@pytest.fixture(scope="module")
def with_handlers(tmp_path_factory):
    """A program with all handlers above, and start-up code that may begin it in each of the ways above."""
    text = "void begin_0(void);" + "".join(assembled(name, lines) for name, lines in OF_HANDLERS.items())
    for number, lines in enumerate(HANDLERS):
        text += assembled(f"begin_{number}", f"la sp, __stack_top; {lines}; 1: j 1b")
    return read_image(
        build(BOARD, text + main("begin_0();"), tmp_path_factory.mktemp("handlers"), flags=("-fno-function-sections",))
    )


@pytest.mark.parametrize("lines", HANDLERS)
def test_an_interrupt_adds_its_deepest_handler(with_handlers, lines):
    begin = with_handlers.symbol(f"begin_{list(HANDLERS).index(lines)}").address
    use = riscv_stack_use(replace(with_handlers, entry=begin), ())
    require(use.interrupt, HANDLERS[lines])
    assert (use.program.bytes is None) == ("may make a trap return elsewhere" in use.interrupt.reason)


# The C library's code for constructors walks through its tables by a pointer; with 16 registers by an index.
AS_IN_THE_C_LIBRARY = [
    f"-Wl,--defsym=__{table}_array_{limit}=aidge_constructors_{ours}"
    for table, limit, ours in (
        ("preinit", "start", "first"),
        ("preinit", "end", "first"),
        ("init", "start", "first"),
        ("init", "end", "end"),
    )
]


@pytest.mark.parametrize("flags", [(), ("-march=rv32emac", "-mabi=ilp32e"), ("-march=rv32e", "-mabi=ilp32e")], ids=" ".join)
def test_the_c_library_calls_constructors_by_their_tables(tmp_path, flags):
    text = f"void __libc_init_array(void); {COMMON}__attribute__((constructor)) static void begin(void) {{ n = deep(3); }}"
    elf = build(
        BOARD, text + main("__libc_init_array();"), tmp_path, flags=(*flags, "-Wl,--no-warn-rwx-segments", *AS_IN_THE_C_LIBRARY)
    )
    use = riscv_stack_use(read_image(elf), ())
    assert use.program.path[-3:] == ("__libc_init_array", "begin", "deep") and use.program.bytes is not None


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_start_up_code_calls_constructors_by_their_table(tmp_path, level):
    text = f"{COMMON}__attribute__((constructor)) static void begin(void) {{ n = deep(3); }}" + main("leaf(n);")
    elf = build(BOARD, text, tmp_path, flags=(level, "-Wl,--no-warn-rwx-segments"))
    use = riscv_stack_use(read_image(elf), ())
    assert "begin" in use.program.path and use.program.bytes is not None and use.program.bytes > 600


def test_a_program_with_other_instructions_in_known_encodings_or_with_64_bits_has_no_bound(tmp_path):
    image = read_image(build(BOARD, COMMON + main("leaf(n);"), tmp_path))
    assert image.extensions.startswith("rv32i") and riscv_stack_use(image, ()).program.bytes is not None
    others = ({"extensions": f"rv32i2p1_c2p0_{name}1p0"} for name in ("zfinx", "zclsd", "xw"))
    for changed in (*others, {"has_64_bits": True}, {"symbols": ()}):
        program = riscv_stack_use(replace(image, **changed), ()).program
        assert program.bytes is None and _hint(program)


def test_start_up_code_without_a_stack_pointer_for_the_whole_program_has_no_bound(tmp_path):
    text = assembled("sets", "li sp, 0x81000800; ret")
    use = riscv_stack_use(read_image(build(BOARD, f"void sets(void); {text}" + main("sets();"), tmp_path)), ())
    assert use.program.bytes is None and "the stack pointer is set to a fixed address, at sets" in use.program.reason
