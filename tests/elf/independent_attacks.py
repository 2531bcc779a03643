# SPDX-License-Identifier: MIT
"""Programs against the bound of the stack that were written by somebody who had not seen how it is computed."""

from __future__ import annotations

from collections.abc import Iterator

from tests.elf.stack_attacks import IN_RAM, LATE, M0, M3, M33, M55, Attack, assembler, by_hand, main

_DEEP = "sub sp, #240; push {r0}; add sp, #244; bx lr"
_SWITCH = (
    "KEPT int f(int k) { switch (k) { case 0: return 3; case 1: return leaf(4); case 2: return 77; case 3: return deep(9); "
    "case 4: return 11; case 5: return 12 * leaf(1); case 6: return leaf(14); } return 2; }"
)
_BELOW = "KEPT void lower(int *p) { *p -= 300; }\n"


def _text(lines: str) -> str:
    """Assembler outside of functions."""
    return f'__asm__("{lines.replace("; ", chr(92) + "n ")}");\n'


# Each of these once used more than its bound.
ONCE_BELOW = (
    by_hand(
        "a shift by a register that holds 256",
        "mov r12, sp; mov r2, #400; mov r3, #256; lsl r2, r2, r3; sub sp, sp, r2; str r0, [sp]; mov sp, r12; bx lr",
    ),
    by_hand(
        "flags that change within an IT block",
        "mov r2, sp; mov r3, sp; cmp r0, r0; itte eq; subseq.w r3, r2, #400; moveq r3, r2; strne r0, [r3]; bx lr",
    ),
    by_hand(
        "a jump table whose check is gone around",
        f"cmp r1, #7; beq 5f; cmp r0, #0; bhi 4f; 5: tbb [pc, r0]; 9: .byte (1f-9b)/2, 0, (2f-9b)/2, 0; 1: bx lr; 2: {_DEEP}; "
        "4: bx lr",
        "jump table",
        call="f(2, 7);",
    ),
    by_hand(
        "a table of a place and a function",
        "ldr r3, =table; ldr pc, [r3, r0, lsl #2]; 1: bx lr; .ltorg; .pushsection .rodata; .balign 4; .type table, %object; "
        ".size table, 8; table: .word 1b + 1, deep; .popsection",
        call="f(1, 0);",
    ),
    by_hand(
        "a table that is counted from within the one before",
        f"ldr r3, =second - 16; ldr pc, [r3, r0, lsl #2]; 1: bx lr; 2: {_DEEP}; .ltorg; .pushsection .rodata; .balign 4; "
        ".type first, %object; .size first, 16; first: .word 1b + 1, 1b + 1, 1b + 1, 1b + 1; "
        ".type second, %object; .size second, 8; second: .word 1b + 1, 2b + 1; .popsection",
        call="f(5, 0);",
    ),
    Attack(
        "a switch of libgcc's name",
        '__attribute__((naked)) void __gnu_thumb1_case_uqi(void) { __asm__("push {r0, r1}\\n sub sp, #400\\n push {r0}\\n '
        "add sp, #404\\n mov r1, lr\\n lsr r1, r1, #1\\n lsl r1, r1, #1\\n ldrb r1, [r1, r0]\\n lsl r1, r1, #1\\n add lr, r1\\n "
        'pop {r0, r1}\\n bx lr"); }\n' + _SWITCH.replace("deep", "leaf") + main("for (int i = 0; i < 9; i++) f(i);"),
        board=M0,
        flags=("-Os",),
    ),
    Attack(
        "code that takes turns",
        _text(
            '.section .one, \\"ax\\"; .global one; .type one, %function; .thumb_func; one: sub sp, #400; push {r0}; add sp, #404'
        )
        + _text(
            'bx lr; .section .two, \\"ax\\"; .global two; .type two, %function; .thumb_func; two: nop; nop; nop; bx lr; .text'
        )
        + "int one(int), two(int);\n"
        + main("if (n == 4) { one(n); two(n); }"),
        "overlay",
        flags=("-O2", "-Wl,--section-start=.one=0x30000", "-Wl,--section-start=.two=0x30000", "-Wl,--no-check-sections"),
    ),
    Attack(
        "a handler that changes a register of the function that it interrupts",
        _text(".global PendSV; .type PendSV, %function; .thumb_func; PendSV: sub r7, #240; bx lr")
        + "void PendSV(void);\n"
        + LATE.format("if (n == 4) { PEND; BARRIER; }"),
        "PendSV does not hand back r7",
        interrupt=True,
        board=M3,
    ),
)
COMPILED = (
    Attack(
        "qsort calls back",
        "#include <stdlib.h>\nstatic int by(const void *a, const void *b) { return deep(*(const int *)a) - *(const int *)b; }"
        + main("int v[9] = { 3, 1, 2 }; qsort(v, 9, 4, by); n = v[2];"),
        "an indirect call at qsort",
    ),
    Attack(
        "start-up code of the firmware's own",
        "typedef void (*entry)(void); extern entry __init_array_start[], __init_array_end[]; int (*volatile other)(int) = deep;\n"
        "entry empty[1]; KEPT void __libc_init_array(void) { n = other(n) + 1; for (entry *at = __init_array_start; "
        "at != __init_array_end; at++) (*at)(); }\n"
        + _text(
            ".global __init_array_start, __init_array_end, __preinit_array_start, __preinit_array_end; "
            ".set __init_array_start, empty; .set __init_array_end, empty; .set __preinit_array_start, empty; "
            ".set __preinit_array_end, empty"
        )
        + main("__libc_init_array();"),
        "an indirect call at __libc_init_array",
    ),
    Attack("a constructor", "__attribute__((constructor)) void early(void) { deep(n); }" + main("leaf(n);")),
    Attack(
        "a recursion through a table",
        "int f(int); static int (*const volatile t[2])(int) = { f, leaf }; KEPT int f(int k) { volatile int b[20]; b[0] = k; "
        "return k ? t[0](b[0] - 1) + 1 : 0; }" + main("f(n);"),
        "an indirect call",
    ),
    Attack(
        "a switch without constants in the code",
        _SWITCH + main("for (int i = 0; i < 9; i++) f(i);"),
        flags=("-O2", "-mpure-code"),
    ),
    Attack(
        "arguments handed on by the compiler",
        "KEPT int f(int k) { void *a = __builtin_apply_args(); __builtin_return(__builtin_apply((void (*)())deep, a, 64)); }"
        + main("f(n);"),
    ),
    Attack(
        "a call of the other security state",
        "typedef int __attribute__((cmse_nonsecure_call)) (*other)(int); other volatile p; KEPT int f(int k) { return p(k) + 1; }"
        + main("if (n == 9) f(n);"),
        "a call of non-secure code",
        board=M33,
        flags=("-O2", "-mcmse"),
    ),
    Attack(
        "an array of variable size in a handler",
        "void PendSV(void) { volatile char p[n * 90]; p[0] = 1; }\n" + LATE.format("PEND; BARRIER;"),
        "depends on data",
        interrupt=True,
        board=M3,
    ),
    Attack(
        "a handler of a line of the chip",
        "void Late(void) { volatile char b[900]; b[n] = 1; }\n"
        + LATE.replace("late[16]", "late[32]")
        .replace("[14] = PendSV", "[20] = Late")
        .format("*(volatile unsigned *)0xE000E100 = 16; *(volatile unsigned *)0xE000E200 = 16; BARRIER;"),
        interrupt=True,
        board=M3,
    ),
    Attack(
        "a table of handlers in RAM by a copy of its address",
        "#include <string.h>\n" + IN_RAM + "KEPT void move(unsigned to) { memcpy((void *)0xE000ED08, &to, 4); }",
        "sets VTOR to an address that is not known",
        interrupt=True,
        board=M3,
    ),
    Attack(
        "a table of handlers in RAM by a store of two words",
        IN_RAM
        + 'KEPT void move(unsigned to) { __asm__ volatile("ldr r3, =0xE000ED00\\n movs r1, #0\\n strd r1, %0, [r3, #4]" :: '
        '"r"(to) : "r1", "r3"); }',
        "sets VTOR to an address that is not known",
        interrupt=True,
        board=M3,
    ),
    Attack(
        "a table of handlers in RAM by a register of the FPU",
        IN_RAM
        + 'KEPT void move(unsigned to) { __asm__ volatile("ldr r3, =0xE000ED08\\n vmov s0, %0\\n vstr s0, [r3]" :: "r"(to) : '
        '"r3", "s0"); }',
        "takes VTOR's address",
        interrupt=True,
    ),
)
BY_WAYS_TO_VTOR = {
    "by an index": "{ int i = n - 1; ((reg *)0xE000ED00)[i] = to; }",
    "by an index that the compiler does not see": '{ int i = 2; __asm__("" : "+r"(i)); ((reg *)0xE000ED00)[i] = to; }',
    "by a sum of data": "{ static volatile unsigned by = 0xD08; *(reg *)(0xE000E000 + by) = to; }",
    "by a complement": '{ __asm__ volatile("ldr r3, =0x1FFF12F7\\n mvns r3, r3\\n str %0, [r3]" :: "r"(to) : "r3"); }',
    "by a product": '{ __asm__ volatile("ldr r3, =0x1C001DA1\\n movs r2, #8\\n muls r3, r2\\n str %0, [r3]" :: "r"(to) : '
    '"r3", "r2"); }',
    "by two large numbers added to an index": '{ __asm__ volatile("ldr r3, =0xD0000001\\n add r3, %1\\n ldr r2, =0x1000ED08\\n "'
    '"add r3, r2\\n str %0, [r3, #-1]" :: "r"(to), "r"(n - n) : "r3", "r2"); }',
    "by a number that was kept in the stack": '{ __asm__ volatile("ldr r3, =0x1FFF12F7\\n push {r3}\\n nop\\n pop {r2}\\n "'
    '"mvns r2, r2\\n str %0, [r2]" :: "r"(to) : "r3", "r2"); }',
    "by a shift": '{ __asm__ volatile("ldr r3, =0x0E000ED0\\n lsls r3, r3, #4\\n adds r3, #8\\n str %0, [r3]" :: "r"(to) : '
    '"r3"); }',
}
TO_VTOR = tuple(
    Attack(
        f"a table of handlers in RAM {way}",
        IN_RAM + "KEPT void move(unsigned to) " + code,
        "VTOR",
        interrupt=True,
        board=M3,
    )
    for way, code in BY_WAYS_TO_VTOR.items()
)
BY_HAND = (
    by_hand(
        "a size that is computed",
        "mov r12, sp; mov r2, #0xf8; mov r3, #12; mul r2, r3; lsr r2, r2, #3; orr r2, r2, #0x400; bic r2, r2, #0x40; "
        "movw r3, #0x4ff; and r2, r3; eor r2, r2, #8; asr r2, r2, #1; lsl r2, r2, #2; sub sp, r2; str r0, [sp]; mov sp, r12; "
        "bx lr",
    ),
    by_hand(
        "numbers as instructions", "push {r4, lr}; .short 0xb0c0; str r0, [sp]; .short 0xb040; pop {r4, pc}", "no instruction is"
    ),
    by_hand(
        "a branch into the middle of an instruction",
        "push {r4, lr}; b 1f + 2; 1: str.w r11, [sp, #240]; str r0, [sp]; add sp, #448; pop {r4, pc}",
        "no instruction is",
        call="if (n == 4) f(0, 1);",
    ),
    by_hand("an address that is pushed and popped", "ldr r3, =deep; push {r3}; pop {pc}; .ltorg"),
    by_hand("a tail call by a register on a condition", "ldr r3, =deep; cmp r0, #3; it eq; bxeq r3; bx lr; .ltorg"),
    by_hand("a call on a condition", "push {r4, lr}; cmp r0, #3; it eq; bleq deep; pop {r4, pc}"),
    by_hand("a pointer among several words", "adr r3, 9f; ldmia r3, {r2, pc}; .balign 4; 9: .word 5, deep", "an indirect jump"),
    by_hand(
        "the stack pointer in memory",
        "ldr r3, =place; str sp, [r3]; sub sp, #300; str r0, [sp]; ldr sp, [r3]; bx lr; .ltorg",
        "depends on data",
        more="int place;\n",
    ),
    by_hand(
        "the stack pointer kept where a callee lowers it",
        "push {r4, lr}; mov r4, sp; push {r3, r4}; add r0, sp, #4; bl lower; ldr r4, [sp, #4]; mov sp, r4; push {r0-r3}; "
        "pop {r0-r3}; add sp, #300; pop {r4, pc}",
        "an indirect jump",
        more=_BELOW,
    ),
    by_hand(
        "registers handed back in another order",
        "push {r4, r5, lr}; mov r4, sp; sub r5, sp, #300; bl swap; mov sp, r4; str r0, [sp]; mov sp, r5; pop {r4, r5, pc}",
        "depends on data",
        more=assembler("swap", "push {r4, r5, lr}; pop {r5}; pop {r4}; pop {pc}"),
    ),
    by_hand(
        "a helper that pushes for its caller",
        "push {r4, r5, lr}; mov r5, sp; movs r4, #9; 1: bl helper; subs r4, #1; bne 1b; mov sp, r5; pop {r4, r5, pc}",
        "bytes left on the stack",
        more=assembler("helper", "push {r0-r3}; bx lr"),
    ),
    by_hand(
        "a function that goes on in the next",
        "push {r4, lr}; sub sp, #200; .size f, 4; .global g; .type g, %function; .thumb_func; g: push {r0}; bl deep; "
        "add sp, #204; pop {r4, pc}",
    ),
    by_hand(
        "a function without a name",
        "push {r4, lr}; bl .Lhidden; pop {r4, pc}; .Lhidden: sub sp, #400; push {r0}; add sp, #404; bx lr",
    ),
    by_hand("a store that lowers the pointer afterwards", "str r0, [sp], #-252; str r0, [sp]; add sp, #252; bx lr"),
    by_hand("two registers below", "strd r0, r1, [sp, #-264]!; ldrd r0, r1, [sp], #264; bx lr"),
    by_hand(
        "one of two sizes",
        "mov r12, sp; mov r2, #400; mov r3, #8; cmp r0, #3; csel r2, r2, r3, eq; sub sp, r2; str r0, [sp]; mov sp, r12; bx lr",
        "depends on data",
        board=M55,
    ),
    by_hand(
        "a constant array as code",
        "push {r4, lr}; ldr r3, =words + 1; blx r3; pop {r4, pc}; .ltorg",
        "no instruction is",
        more="const unsigned short words[] __attribute__((aligned(4))) = { 0xb0c0, 0xb401, 0xb041, 0x4770 };\n",
    ),
)


def independent_attacks() -> Iterator[Attack]:
    """All of them."""
    yield from ONCE_BELOW
    yield from COMPILED
    yield from BY_HAND
    yield from TO_VTOR
