# SPDX-License-Identifier: MIT
"""Programs that try to use more stack than their bound says: C that compilers translate unusually, and assembler by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

M0, M3, M4, M33, M55 = "microbit", "mps2-an385", "mps2-an386", "mps2-an505", "mps3-an547"
COMMON = """
#define KEPT __attribute__((noinline, noclone))
#define NAKED __attribute__((naked, noinline, noclone))
volatile int n = 3;
KEPT int leaf(int k) { volatile int b[4]; b[0] = k; return b[0]; }
KEPT int deep(int k) { volatile char b[600]; b[k & 7] = 1; return b[k & 7] + k; }
"""


@dataclass(frozen=True)
class Attack:
    """A program that returns 0 if it came to its end. `refusal` is a part of the reason why it has no bound; "": it has one.

    With `interrupt` the program moves VTOR to its constant table `late`, and what an interrupt adds counts, too.
    """

    name: str
    code: str
    refusal: str = ""
    board: str = M4
    flags: tuple[str, ...] = ("-O2",)
    interrupt: bool = False

    @property
    def text(self) -> str:
        """The program."""
        return COMMON + self.code


def assembler(name: str, lines: str, arguments: str = "int a, int b") -> str:
    """A function of assembler alone; statements are separated by semicolons."""
    return f'NAKED int {name}({arguments}) {{ __asm__("{lines.replace("; ", chr(92) + "n ")}"); }}\n'


def main(statement: str) -> str:
    return f"int main(void) {{ {statement} return 0; }}\n"


def by_hand(name: str, lines: str, refusal: str = "", board: str = M4, call: str = "f(n, 5);", more: str = "") -> Attack:
    return Attack(name, more + assembler("f", lines) + main(call), refusal, board)


# Where a replaced return address leads to: it goes on to where the first one led.
PUSHES = ".global pushes; .type pushes, %function; .thumb_func; pushes: sub sp, #240; push {r0}; add sp, #244; bx r12"
COMPILED = (
    Attack("alloca", "#include <alloca.h>\n" + main("volatile char *p = alloca(n * 100); p[0] = 1;"), "depends on data"),
    Attack("array of variable size", main("volatile char p[n * 90]; p[0] = 1;"), "depends on data"),
    Attack(
        "array of variable size in a loop",
        "KEPT int f(int k) { int s = 0; for (int i = 1; i < k; i++) { volatile char p[i * 64]; p[0] = 1; s += p[0]; } "
        "return s; }" + main("f(n);"),
        "depends on data",
    ),
    Attack("recursion", "KEPT int f(int k) { return k ? f(k - 1) * n + 1 : deep(k); }" + main("f(n);"), "recursion f > f"),
    Attack(
        "recursion by a tail call of another",
        "int g(int); KEPT int f(int k) { volatile int b[9]; b[0] = k; return k ? g(b[0]) + 1 : 0; } KEPT int g(int k) { "
        "return f(k - 1); }" + main("f(n);"),
        "recursion",
    ),
    Attack("tail recursion is a loop", "KEPT int f(int k) { return k > 9 ? deep(k) : f(k + n); }" + main("f(n);")),
    Attack("a pointer in RAM", "int (*volatile p)(int) = deep;" + main("p(n);"), "an indirect call"),
    Attack("a constant pointer", "static int (*const p)(int) = deep;" + main("p(n);")),
    Attack(
        "a table of functions", "static int (*const t[3])(int) = { leaf, deep, leaf };" + main("t[n & 1](n);"), "an indirect call"
    ),
    Attack("a pointer as argument", "KEPT int f(int (*p)(int), int k) { return p(k) + 1; }" + main("f(deep, n);"), "an indirect"),
    Attack("a far call", main("deep(n);"), flags=("-O2", "-mlong-calls")),
    Attack("a far call on a small core", main("deep(n);"), board=M0, flags=("-O2", "-mlong-calls")),
    Attack(
        "a tail call", "KEPT int f(int k) { volatile char b[300]; b[k & 7] = 1; n = b[k & 7]; return deep(k); }" + main("f(n);")
    ),
    Attack("a tail call on a small core", "KEPT int f(int k) { n = k; return deep(k); }" + main("f(n);"), board=M0),
    Attack(
        "many arguments",
        "KEPT int f(int a, int b, int c, int d, int e, int g, int h, int i) { return deep(a + b + c + d + e + g + h + i); }"
        + main("f(n, n, n, n, n, n, n, n);"),
    ),
    Attack(
        "a structure by value",
        "struct s { int v[40]; }; KEPT struct s f(struct s a) { a.v[n] = deep(a.v[1]); return a; }"
        + main("struct s a = {{1}}; a = f(f(a)); n = a.v[2];"),
    ),
    Attack(
        "variadic",
        "#include <stdarg.h>\nKEPT int f(int k, ...) { va_list l; int s = 0; va_start(l, k); while (k--) s += va_arg(l, int); "
        "va_end(l); return deep(s); }" + main("f(5, 1, 2, 3, 4, 5);"),
    ),
    Attack(
        "a dense switch",
        "KEPT int f(int k) { switch (k) { case 0: return 3; case 1: return leaf(4); case 2: return 77; case 3: return deep(9); "
        "case 4: return 11; case 5: return 12 * leaf(1); case 6: return leaf(14); case 7: return n; default: return 2; } }"
        + main("for (int i = 0; i < 9; i++) f(i);"),
    ),
    Attack(
        "a sparse switch of a small core",
        "KEPT int f(int k) { switch (k) { case 0: return 3; case 1: return leaf(4); case 12: return 77; case 13: return "
        "deep(9) + 1; "
        "case 14: return 11; case 15: return 12 * leaf(1); case 16: return leaf(14); case 9: return n; default: return 2; } }"
        + main("for (int i = 0; i < 19; i++) f(i);"),
        board=M0,
        flags=("-Os",),
    ),
    Attack(
        "a large switch",
        "KEPT int f(int k) { switch (k) { "
        + " ".join(f"case {i}: n += {i * 7}; n ^= {i * 1234567}; {'deep(k);' if i == 88 else ''} break;" for i in range(100))
        + " } return n; }"
        + main("f(88); f(3);"),
    ),
    Attack(
        "computed gotos",
        "KEPT int f(int k) { static void *const t[] = { &&a, &&b, &&c }; goto *t[k]; a: return 1; b: return deep(k) + 1; c: "
        "return 3; }" + main("for (int i = 0; i < 3; i++) f(i);"),
    ),
    Attack(
        "computed gotos of a table with a hole",
        "KEPT int f(int k) { static void *const t[] = { &&a, 0, &&b, &&c }; goto *t[k]; a: return 1; b: return deep(k) + 1; "
        "c: return 3; }" + main("f(0); f(2); f(3);"),
    ),
    Attack(
        "computed gotos of a table that is entered in its middle",
        "KEPT int f(int k) { static void *const t[] = { &&b, &&a, &&c, &&a }; void *const *p = t + 2; goto *p[k]; a: return 1; "
        "b: return deep(k) + 1; c: return 3; }" + main("f(-2); f(0); f(1);"),
    ),
    Attack(
        "computed gotos of a writable table",
        "KEPT int f(int k) { static void *t[] = { &&a, &&b }; if (k > 7) t[0] = &&b; goto *t[k & 1]; a: return 1; b: return "
        "deep(k) + 1; }" + main("f(9); f(8);"),
        "a jump through a table",
    ),
    Attack(
        "distances of computed gotos",
        "KEPT int f(int k) { static const int t[] = { &&a - &&a, &&b - &&a }; goto *(&&a + t[k]); a: return 1; b: return "
        "deep(k) + 1; }" + main("f(0); f(1);"),
        "an indirect jump",
    ),
    Attack(
        "longjmp",
        "#include <setjmp.h>\nstatic jmp_buf place; KEPT int f(int k) { if (k) longjmp(place, k); return 1; }"
        + main("if (!setjmp(place)) f(n); else deep(n);"),
        "depends on data",
    ),
    Attack(
        "longjmp of the compiler",
        "static void *place[5]; KEPT void f(void) { __builtin_longjmp(place, 1); }"
        + main("if (!__builtin_setjmp(place)) f(); else deep(n);"),
        "depends on data",
    ),
    Attack(
        "unwinding",
        "KEPT void f(long k, void *p) { __builtin_unwind_init(); __builtin_eh_return(k, p); }" + main("if (n == 9) f(n, 0);"),
        "depends on data",
    ),
    Attack(
        "a nested function with a trampoline",
        "KEPT int g(int (*p)(int)) { return p(1); } KEPT int f(int k) { int h(int x) { return deep(x + k); } return g(h); }"
        + main("f(n);"),
        "an indirect",
    ),
    Attack(
        "stack probes",
        "KEPT int f(void) { volatile char b[9000]; b[n] = 1; return deep(b[n]); }" + main("if (n == 7) f();"),
        flags=("-O2", "-fstack-clash-protection"),
    ),
    Attack(
        "large frames of a small core",
        "KEPT int f(void) { volatile char b[900]; b[n] = 1; return deep(b[n]); }" + main("f();"),
        board=M0,
    ),
    Attack(
        "frame pointers",
        "KEPT int f(int k) { volatile char b[200]; b[n] = k; return deep(b[n]); }" + main("f(n);"),
        flags=("-O0", "-fno-omit-frame-pointer"),
    ),
    Attack(
        "frame pointers of a small core",
        "KEPT int f(int k) { volatile char b[200]; b[n] = k; return deep(b[n]); }" + main("f(n);"),
        board=M0,
        flags=("-O0",),
    ),
    Attack(
        "doubles and long quotients",
        main("volatile double d = n; volatile long long q = n; d = d / 3.1; q = q / n; n = (int)d + (int)q;"),
    ),
    Attack("functions of libm", "#include <math.h>\n" + main("volatile float f = n; f = powf(f, expf(f));")),
    Attack(
        "memcpy of a structure",
        "#include <string.h>\nKEPT int f(int k) { char b[500]; memset(b, k, sizeof b); return deep(b[n]); }" + main("f(n);"),
    ),
    Attack(
        "vectors in registers that are kept",
        "KEPT float f(float a) { float s = a; for (int i = 0; i < n; i++) s += deep(i) * a; return s; }"
        + main("volatile float x = 2; x = f(x);"),
    ),
    Attack(
        "loops and vectors of a large core",
        "KEPT int f(const int *p, int k) { int s = 0; for (int i = 0; i < k; i++) s += p[i] * p[i]; return s + deep(s); }"
        + main("int v[64]; for (int i = 0; i < 64; i++) v[i] = n; f(v, n * 20);"),
        board=M55,
        flags=("-O3",),
    ),
    Attack(
        "a weak function that does not exist",
        "__attribute__((weak)) int none(int); KEPT int f(int k) { return none ? none(k) : deep(k); }" + main("f(n);"),
    ),
    Attack(
        "parts that lie apart",
        "KEPT int f(int k) { if (__builtin_expect(k == 3, 0)) { volatile char b[700]; b[k] = 1; return deep(b[k]); } return "
        "k; }" + main("f(n);"),
        flags=("-O2", "-freorder-blocks-and-partition"),
    ),
    Attack(
        "link-time optimisation",
        "KEPT int f(int k) { volatile char b[250]; b[k] = 1; return deep(b[k]); }" + main("f(n);"),
        flags=("-O2", "-flto"),
    ),
    Attack(
        "a function in RAM",
        '__attribute__((section(".data.code"), noinline)) int f(int k) { volatile char b[300]; b[k] = 1; return deep(b[k]); }'
        + main("f(n);"),
        "",
    ),
)
BY_HAND = (
    by_hand(
        "the stack pointer by a register",
        "push {r4, lr}; movw r4, #320; sub sp, sp, r4; str r0, [sp]; add sp, sp, r4; pop {r4, pc}",
    ),
    by_hand(
        "the stack pointer by an unknown register",
        "push {r4, lr}; lsls r4, r0, #6; sub sp, sp, r4; str r0, [sp]; add sp, sp, r4; pop {r4, pc}",
        "depends on data",
    ),
    by_hand("moved to and back", "mov r12, sp; sub r3, r12, #400; mov sp, r3; str r0, [sp]; mov sp, r12; bx lr"),
    by_hand("a loop that pushes", "mov r12, sp; 1: push {r0}; subs r0, #1; bne 1b; mov sp, r12; bx lr", "depends on the way"),
    by_hand("a loop that pushes and pops", "1: push {r0, r1}; pop {r0, r1}; subs r0, #1; bne 1b; bx lr"),
    by_hand("pushes on a condition", "cmp r0, #3; it eq; pusheq {r4-r7}; it eq; popeq {r4-r7}; bx lr", "depends on the way"),
    by_hand(
        "an IT block that returns",
        "push {r4, lr}; sub sp, #200; str r0, [sp]; cmp r0, #3; itt eq; addeq sp, #200; popeq {r4, pc}; add sp, #200; pop "
        "{r4, pc}",
    ),
    by_hand(
        "a branch into an IT block",
        "movs r3, #0; cmp r0, #99; b 1f; itt eq; nopeq; 1: pusheq {r4-r11}; pop {r4-r11}; bx lr",
        "into an IT block",
    ),
    by_hand("stores below the stack pointer", "str r0, [sp, #-240]; bx lr"),
    by_hand("stores below it through a register", "sub r3, sp, #380; strd r0, r1, [r3, #-8]; bx lr"),
    by_hand("stores of several below it", "mov r3, sp; stmdb r3, {r0-r3, r12}; sub r3, #160; stmia r3!, {r0, r1}; bx lr"),
    by_hand("a store that moves the pointer", "str r0, [sp, #-128]!; str r1, [sp, #-128]!; add sp, #256; bx lr"),
    by_hand(
        "a table of bytes",
        "cmp r0, #2; bhi 4f; tbb [pc, r0]; 9: .byte (1f - 9b) / 2, (2f - 9b) / 2, (3f - 9b) / 2, 0; 1: bx lr; 2: sub sp, "
        "#240; push {r0}; pop {r0}; add sp, #240; bx lr; 3: bx lr; 4: bx lr",
        call="f(0, 1); f(1, 1); f(2, 1);",
    ),
    by_hand(
        "a table of halves with a hole",
        "cmp r0, #2; bhi 4f; tbh [pc, r0, lsl #1]; 9: .2byte (1f - 9b) / 2, 0, (2f - 9b) / 2; 1: bx lr; 2: sub sp, #240; "
        "push {r0}; pop {r0}; add sp, #240; bx lr; 4: bx lr",
        "jump table",
        call="f(0, 1); f(2, 1);",
    ),
    by_hand(
        "a table elsewhere",
        "adr r3, 9f; tbb [r3, r0]; 1: bx lr; 2: sub sp, #240; push {r0}; pop {r0}; add sp, #240; bx lr; .balign 4; 9: .byte 0, 1",
        "a jump table elsewhere",
        call="f(0, 1);",
    ),
    by_hand("a sum in pc", "add r0, r0, r0; add pc, r0; nop; bx lr; bx lr; bx lr", "an indirect jump", call="f(0, 1);"),
    by_hand("a call by hand", "push {r4, lr}; adr r3, 1f; adds r3, #1; mov lr, r3; b deep; .balign 4; 1: pop {r4, pc}"),
    by_hand(
        "a return address that is replaced",
        "push {r4, lr}; mov r12, lr; ldr r3, =pushes; str r3, [sp, #4]; pop {r4, pc}; .ltorg; " + PUSHES,
    ),
    by_hand(
        "a return address that is replaced through an index",
        "push {r4, lr}; mov r12, lr; ldr r3, =pushes; movs r2, #1; str r3, [sp, r2, lsl #2]; pop {r4, pc}; .ltorg; " + PUSHES,
    ),
    by_hand(
        "a return with less than it came with", "push {r4, r5}; bx lr", "bytes left on the stack", call="if (n == 4) f(1, 2);"
    ),
    Attack(
        "a register that the caller wants to keep",
        assembler("f", "mov r7, sp; subs r7, #180; bx lr")
        + "KEPT int g(int k) { volatile char b[100]; b[k & 3] = 1; f(k, k); return deep(b[k & 3]); }"
        + main("if (n == 4) g(n);"),
        "depends on data",
        flags=("-O0",),
    ),
    by_hand("registers of vectors", "vpush {d8-d15}; vpush {s16}; sub sp, #4; add sp, #4; vpop {s16}; vpop {d8-d15}; bx lr"),
    by_hand("registers in the old format", "fstmdbx sp!, {d8-d11}; fldmiax sp!, {d8-d11}; bx lr"),
    by_hand("vectors below", "vstmdb sp!, {s0-s7}; vldmia sp!, {s0-s7}; sub r3, sp, #96; vstr d0, [r3, #-24]; bx lr"),
    by_hand("vectors of a large core", "mov r3, sp; vstrw.32 q0, [r3, #-64]; vstrw.32 q0, [r3, #-96]!; bx lr", board=M55),
    by_hand(
        "the other stack",
        "mrs r2, control; sub r3, sp, #256; msr psp, r3; orr r2, #2; msr control, r2; isb; push {r0}; bic r2, #2; msr "
        "control, r2; isb; bx lr",
        "PSP is set",
    ),
    by_hand(
        "the main stack moved",
        "mrs r3, msp; subs r3, #200; msr msp, r3; push {r0}; pop {r0}; adds r3, #200; msr msp, r3; bx lr",
        "MSP is set",
    ),
    by_hand("the control register", "mrs r2, control; msr control, r2; bx lr", "is set"),
    by_hand(
        "a multiple of 64", "mov r3, sp; mov r2, sp; bfc r2, #0, #6; mov sp, r2; push {r0}; mov sp, r3; bx lr", "depends on data"
    ),
    by_hand(
        "an inner part that is called",
        "push {r4, lr}; bl 1f; bl 1f; pop {r4, pc}; 1: sub sp, #180; push {r0}; pop {r0}; add sp, #180; bx lr",
    ),
    by_hand(
        "an inner part that returns for it",
        "push {r4, r5, lr}; cmp r0, #3; bne 2f; bl 1f; 2: pop {r4, r5, pc}; 1: sub sp, #180; push {r0}; add sp, #184; pop "
        "{r4, r5, pc}",
    ),
    by_hand(
        "a variable that an inner part changes",
        "push {r4, lr}; sub sp, #8; movs r2, #16; str r2, [sp]; mov r0, sp; bl 1f; ldr r2, [sp]; sub sp, sp, r2; push {r0}; "
        "add sp, #4; add sp, sp, r2; add sp, #8; pop {r4, pc}; 1: mov r2, #400; str r2, [r0]; bx lr",
        "depends on data",
    ),
    by_hand("a supervisor call", "svc #1; bx lr", "a supervisor call", call="if (n == 4) f(1, 2);"),
    by_hand("an unknown instruction", ".inst.n 0xb7ff; bx lr", "does not know", call="if (n == 4) f(1, 2);"),
    by_hand(
        "the lower half alone",
        "push {r4, lr}; movs r4, #200; mov r3, sp; sub r3, r4; mov sp, r3; push {r0}; pop {r0}; add sp, r4; pop {r4, pc}",
        board=M0,
    ),
    by_hand(
        "a literal as its size",
        "push {r4, lr}; ldr r4, 1f; add sp, r4; push {r0}; pop {r0}; ldr r3, 2f; add sp, r3; pop {r4, pc}; .balign 4; 1: "
        ".word -560; 2: .word 560",
        board=M0,
    ),
    by_hand(
        "a loop end of a large core",
        "push {r4, lr}; movs r3, #3; dls lr, r3; 1: sub sp, #40; str r0, [sp]; add sp, #40; le lr, 1b; pop {r4, pc}",
        board=M55,
    ),
    by_hand(
        "a loop end that pushes",
        "push {r4, lr}; mov r4, sp; movs r3, #3; dls lr, r3; 1: push {r0-r3}; le lr, 1b; mov sp, r4; pop {r4, pc}",
        "depends on the way",
        board=M55,
    ),
)
LATE = (
    "__attribute__((aligned(128))) void (*const late[16])(void) = {{ [14] = PendSV }};\n"
    "#define PEND (*(volatile unsigned *)0xE000ED04 = 0x10000000)\n"
    '#define BARRIER __asm__ volatile("dsb\\n isb" : : : "memory")\n'
    "int main(void) {{ *(volatile unsigned *)0xE000ED08 = (unsigned)late; {} return 0; }}\n"
)
INTERRUPTS = (
    Attack("a handler of C", "void PendSV(void) { deep(n); }\n" + LATE.format("PEND; BARRIER;"), interrupt=True, board=M3),
    Attack(
        "a handler within a deep function",
        "void PendSV(void) { leaf(n); }\nKEPT int f(int k) { volatile char b[400]; b[k] = 1; *(volatile unsigned "
        '*)0xE000ED04 = 0x10000000; __asm__ volatile("dsb\\n isb"); return b[k]; }\n' + LATE.format("f(n);"),
        interrupt=True,
        board=M3,
    ),
    Attack(
        "a handler with the FPU in use",
        "volatile float g = 1.5f; void PendSV(void) { g *= 1.5f; deep(n); }\nKEPT void f(float x) { g = x + g; *(volatile "
        'unsigned *)0xE000ED04 = 0x10000000; __asm__ volatile("dsb\\n isb"); g = g * x; }\n' + LATE.format("f(g);"),
        interrupt=True,
    ),
    Attack(
        "a handler with its attribute",
        "__attribute__((interrupt)) void PendSV(void) { deep(n); }\n" + LATE.format("PEND; BARRIER;"),
        interrupt=True,
        board=M3,
    ),
    Attack(
        "a handler that calls through a pointer",
        "int (*volatile p)(int) = deep; void PendSV(void) { p(n); }\n" + LATE.format("PEND; BARRIER;"),
        "an indirect",
        interrupt=True,
        board=M3,
    ),
    Attack(
        "a handler that returns to the other stack",
        assembler("g", "ldr lr, =0xFFFFFFFD; bx lr; .ltorg")
        + "void PendSV(void);\n"
        + '__asm__(".global PendSV\\n.type PendSV, %function\\n.thumb_func\\nPendSV: b g");'
        + LATE.format("if (n == 4) { PEND; BARRIER; }"),
        "not in the program",
        interrupt=True,
        board=M3,
    ),
    Attack(
        "a handler of a small core's kind",
        "void PendSV(void) { deep(n); }\n" + LATE.format("PEND; BARRIER;"),
        interrupt=True,
        board=M33,
    ),
)

IN_RAM = (
    "typedef volatile unsigned reg; __attribute__((aligned(128))) unsigned table[64];\n"
    "void PendSV(void) { volatile char b[3000]; b[n] = 1; }\n"
    "void move(unsigned to); int main(void) { for (int i = 0; i < 16; i++) table[i] = ((reg *)0)[i]; table[14] = "
    "(unsigned)PendSV; "
    'move((unsigned)table); *(reg *)0xE000ED04 = 0x10000000; __asm__ volatile("dsb\\n isb"); return 0; }\n'
)
IN_OTHER_TABLES = (
    Attack(
        "a table of handlers in RAM",
        IN_RAM + "KEPT void move(unsigned to) { *(reg *)0xE000ED08 = to; }",
        "sets VTOR to an address that is not known",
        interrupt=True,
        board=M3,
    ),
    Attack(
        "a table of handlers in RAM by a variable",
        IN_RAM + "reg *place = (reg *)0xE000ED08; KEPT void move(unsigned to) { *place = to; }",
        "place holds VTOR's address",
        interrupt=True,
        board=M3,
    ),
    Attack(
        "a table of handlers that was in RAM from the begin",
        "void Reset_Handler(void); void Fault_Handler(void); void PendSV(void) { volatile char b[1000]; b[n] = 1; }\n"
        "__attribute__((aligned(128))) void *table[16] = { (void *)0x20401000, Reset_Handler, Fault_Handler, Fault_Handler, "
        "[14] = PendSV };\n" + LATE.format("PEND; BARRIER;").replace("(unsigned)late", "(unsigned)table"),
        "table in RAM looks like a vector table",
        interrupt=True,
        board=M3,
    ),
)


def attacks() -> Iterator[Attack]:
    """All of them."""
    yield from COMPILED
    yield from BY_HAND
    yield from INTERRUPTS
    yield from IN_OTHER_TABLES
