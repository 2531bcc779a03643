# SPDX-License-Identifier: MIT
"""Programs for RISC-V that try to use more stack than their bound says: functions in assembly, and interrupts."""

from __future__ import annotations

from tests.elf.stack_attacks import Attack, main

_BREAK = r"\n "


def assembled(name: str, lines: str) -> str:
    """A function of assembler alone; statements are separated by semicolons."""
    begin = f".option arch, +zicsr; .text; .balign 4; .globl {name}; .type {name}, @function; {name}: "
    text = f"{begin}{lines}; .size {name}, . - {name}"
    return f'__asm__("{text.replace("; ", _BREAK)}");\n'


def _by_hand(name: str, lines: str, refusal: str = "", more: str = "", call: str = "f(n, 5);") -> Attack:
    """`more` are further functions, by name."""
    return Attack(name, f"int f(int, int);\n{assembled('f', lines)}{more}{main(call)}", refusal)


_SAVED = "addi sp, sp, -16; sw ra, 12(sp); "
_RESTORED = "lw ra, 12(sp); addi sp, sp, 16; ret"
_INNER = "1: addi sp, sp, -180; sw a0, 0(sp); addi sp, sp, 180; jr t0"
_PUSHES = assembled("pushes", "addi sp, sp, -240; sw a0, 0(sp); addi sp, sp, 240; jr a5")
_MOVES_TP = assembled("moves", "addi tp, tp, -2000; ret")
FUNCTIONS_THAT_ATTACK = (
    _by_hand("a frame of a register", "li t0, 700; sub sp, sp, t0; sw a0, 0(sp); add sp, sp, t0; ret"),
    _by_hand("a frame of lui", "lui t0, 1; sub sp, sp, t0; sw a0, 0(sp); add sp, sp, t0; ret", call="if (n == 4) f(n, 5);"),
    _by_hand("a frame of an argument", "slli t0, a0, 6; sub sp, sp, t0; sw a0, 0(sp); add sp, sp, t0; ret", "depends on data"),
    _by_hand(
        "a frame of a table in memory",
        "la t0, 9f; lw t0, 0(t0); sub sp, sp, t0; sw a0, 0(sp); add sp, sp, t0; ret; .balign 4; 9: .word 304",
        "depends on data",
    ),
    _by_hand("a loop that pushes", "mv t1, sp; 1: addi sp, sp, -32; addi a0, a0, -1; bnez a0, 1b; mv sp, t1; ret", "on the way"),
    _by_hand(
        "a loop that pushes and pops", "1: addi sp, sp, -48; sw a0, 0(sp); addi sp, sp, 48; addi a0, a0, -1; bnez a0, 1b; ret"
    ),
    _by_hand(
        "another stack",
        f"{_SAVED}mv s1, sp; la sp, other + 900; call deep; mv sp, s1; {_RESTORED}",
        "set to a fixed address",
        "char other[900];\n",
    ),
    _by_hand("a stack in mscratch", "csrrw sp, mscratch, sp; csrrw sp, mscratch, sp; ret", "is set by 'csrrw'"),
    _by_hand(
        "a stack that was stored", f"{_SAVED}la t0, kept; sw sp, 0(t0); lw sp, 0(t0); {_RESTORED}", "set by 'lw'", "int kept;\n"
    ),
    _by_hand("a stack by exclusive or", "xor t0, sp, a0; xor sp, t0, a0; ret", "depends on data"),
    _by_hand("a stack pointer in tp", "mv tp, sp; addi sp, sp, -400; sw a0, 0(sp); mv sp, tp; ret"),
    _by_hand(
        "a stack pointer in tp that a call moves",
        f"{_SAVED}sw s1, 8(sp); sw tp, 4(sp); mv s1, sp; mv tp, sp; call moves; mv sp, tp; sw a0, 0(sp); mv sp, s1; "
        f"lw s1, 8(sp); lw tp, 4(sp); {_RESTORED}",
        "depends on data",
        _MOVES_TP,
    ),
    _by_hand("a stack pointer in gp", "mv t0, gp; mv gp, sp; mv sp, gp; mv gp, t0; ret", "the global pointer is changed"),
    _by_hand("a store below", "addi t0, sp, -380; sw a0, -8(t0); sb a0, -440(sp); ret"),
    _by_hand("a tail call through a register", "addi sp, sp, -96; sw a0, 0(sp); addi sp, sp, 96; la t1, deep; jr t1"),
    _by_hand(
        "a return address in s0", f"{_SAVED}sw s0, 8(sp); mv s0, ra; call deep; mv t1, s0; lw s0, 8(sp); addi sp, sp, 16; jr t1"
    ),
    _by_hand(
        "a return address that is replaced",
        f"{_SAVED}mv a5, ra; la t1, pushes; sw t1, 12(sp); {_RESTORED}",
        more=_PUSHES,
    ),
    _by_hand(
        "a return address that is replaced through an index",
        f"{_SAVED}mv a5, ra; la t1, pushes; li t2, 3; slli t2, t2, 2; add t2, t2, sp; sw t1, 0(t2); {_RESTORED}",
        more=_PUSHES,
    ),
    _by_hand(
        "a function that goes on into the next one",
        "addi sp, sp, -64; sw a0, 0(sp)",
        more=assembled("g", "addi sp, sp, -128; sw a0, 0(sp); addi sp, sp, 192; ret"),
    ),
    _by_hand("a call by another register", f"{_SAVED}jal t0, 1f; {_RESTORED}; {_INNER}"),
    _by_hand("two calls by another register", f"{_SAVED}jal t0, 1f; jal t0, 1f; {_RESTORED}; {_INNER}", "an indirect jump"),
    _by_hand(
        "recursion by another register",
        "mv t1, sp; 1: addi sp, sp, -32; addi a0, a0, -1; beqz a0, 2f; jal t0, 1b; 2: mv sp, t1; ret",
        "on the way",
    ),
    _by_hand("an alignment", "mv t1, sp; andi sp, sp, -16; addi sp, sp, -100; andi sp, sp, -32; sw a0, 0(sp); mv sp, t1; ret"),
    _by_hand("an alignment of 64", "mv t1, sp; andi sp, sp, -64; sw a0, 0(sp); mv sp, t1; ret", "depends on data"),
    _by_hand(
        "a frame of a scaled number", "mv t1, sp; li t0, -50; .option arch, +zba; sh2add sp, t0, sp; sw a0, 0(sp); mv sp, t1; ret"
    ),
)
# The software interrupt of the machine (QEMU 7.2, hw/riscv/virt.c): its register, and its bit in mie.
_ASKS = "*(volatile int *)0x02000000 = 1;"
_ANSWERS = "*(volatile int *)0x02000000 = 0;"
_LETS_IN = assembled("lets_in", "la t0, {}; csrw mtvec, t0; li t0, 8; csrs mie, t0; csrs mstatus, t0; ret")
_HANDLER = f"__attribute__((interrupt, aligned(4))) void handler(void) {{{{ {_ANSWERS} {{}} }}}}\n"


def _in_assembly(lines: str) -> str:
    return f'__asm__ volatile(".option arch, +zicsr; {lines}" : : : "t0");'


def _by_handler(
    name: str, lines: str, refusal: str = "", more: str = "", mode: str = "handler", flags: tuple[str, ...] = ()
) -> Attack:
    """A program with an interrupt deep in it, and these lines in its handler."""
    asks = f"KEPT int f(int k) {{ volatile char b[400]; b[k] = 1; {_ASKS} return b[k]; }}\n"
    text = f"void lets_in(void); {more}{_HANDLER.format(lines)}{asks}{_LETS_IN.format(mode)}" + main("lets_in(); f(n);")
    return Attack(name, text, refusal, flags=("-O2", *flags), interrupt=True)


_TABLE = assembled("table", ".balign 256; .option norvc; .rept 16; j handler; .endr")
HANDLERS_THAT_ATTACK = (
    _by_handler("a handler of C", "deep(n);"),
    _by_handler("a handler of C with 16 registers", "deep(n);", flags=("-march=rv32emac", "-mabi=ilp32e")),
    _by_handler("a handler of a table", "deep(n);", "", _TABLE, "table + 1"),
    _by_handler("a handler that calls through a pointer", "p(n);", "an indirect call", "int (*volatile p)(int) = deep;\n"),
    _by_handler("a handler that lets others in", _in_assembly("csrsi mstatus, 8") + "deep(n);", "may let interrupts in"),
    _by_handler(
        "a handler that returns to another function",
        _in_assembly("la t0, hog; csrw mepc, t0"),
        "may make a trap return elsewhere",
        "__attribute__((used, noreturn)) void hog(void) { deep(n); for (;;) {} }\n",
    ),
)
# Each of them had a bound below its use, a bound without a proof, or none.
ONCE_WRONG = (
    "a handler of C with 16 registers",
    "a stack pointer in tp that a call moves",
    "a handler that returns to another function",
)
