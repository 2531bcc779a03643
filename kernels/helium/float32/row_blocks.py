# SPDX-License-Identifier: MIT
"""A block of a row of floats as int8 levels (`aidge_kit_block_scale`), or as integers with one exponent, in three digits of 8
bits, lowest first; equal digits of 16 values are neighbours."""

from __future__ import annotations

from ..core.assembly import Assembler, function

PARAMETERS = "const float *values, int8_t *x, aidge_kit_row_block *block, int32_t count"
SMALLEST, FROM_SMALLEST_TO_INFINITE = 0x14000000, 0x7F800000 - 0x14000000  # the bits of 2^-87
OF_127, NOT_A_NUMBER = 0x42FE0000, 0x7FC00000
LANES = 16  # of a vector of digits


def quantizer(integer_bits: int) -> tuple[str, str]:
    """Name and text; `integer_bits` of integers, 0 for levels. It writes the unit of the block, and minus the sum of integers.

    r4: the pattern of the largest magnitude, then the sum; r5: the unit; r6: its reciprocal.
    """
    name = f"aidge_helium_block_to_{f'integers_{integer_bits}' if integer_bits else 'levels'}"
    emit = Assembler()
    emit("push {r4-r7, lr}", "mov r4, r0", "vmov.i32 q1, #0", "dlstp.32 lr, r3")
    emit.label(1)
    emit("vldrw.u32 q0, [r4], #16", "vabs.f32 q0, q0", "vmax.u32 q1, q1, q0", "letp lr, 1b")
    emit("movs r4, #0", "vmaxv.u32 r4, q1")
    emit(f"sub r5, r4, #{SMALLEST:#x}", f"cmp r5, #{FROM_SMALLEST_TO_INFINITE:#x}", "bhs 5f")
    _exponent(emit, integer_bits) if integer_bits else _scale(emit)
    emit.label(2)
    emit("str r5, [r2]", "movs r4, #0")
    _digits(emit) if integer_bits else _levels(emit)
    emit("rsbs r4, r4, #0", "str r4, [r2, #4]", "pop {r4-r7, pc}")
    emit.label(5)
    emit("movs r6, #0", "movs r5, #0", f"cmp r4, #{SMALLEST:#x}", "blo 2b", why="zeros")
    emit(f"movt r5, #{NOT_A_NUMBER >> 16}", "b 2b")
    purpose = f"integers of {integer_bits} bits in digits" if integer_bits else "int8 levels"
    return name, function(name, f"A block of floats becomes {purpose}.", PARAMETERS, emit.lines)


def _scale(emit: Assembler) -> None:
    emit("movw r5, #0", f"movt r5, #{OF_127 >> 16}", "vmov s0, s1, r4, r5", "vdiv.f32 s0, s0, s1")
    emit("vmov.f32 s1, #1.0", "vdiv.f32 s1, s1, s0", "vmov r5, r6, s0, s1")


def _exponent(emit: Assembler, integer_bits: int) -> None:
    """Values are below 2^(e - 126): the unit is 2^(e - 126 - bits), its exponent e + 1 - bits."""
    emit("lsrs r5, r4, #23", f"movw r6, #{253 + integer_bits}", "subs r6, r6, r5", "lsls r6, r6, #23")
    emit(f"subs r5, r5, #{integer_bits - 1}", "lsls r5, r5, #23")


def _integers(emit: Assembler) -> None:
    emit("vldrw.u32 q0, [r0], #16", "vmul.f32 q0, q0, r6", "vcvtn.s32.f32 q0, q0", "vaddva.s32 r4, q0")


def _levels(emit: Assembler) -> None:
    emit("dlstp.32 lr, r3")
    emit.label(3)
    _integers(emit)
    emit("vstrb.32 q0, [r1], #4", "letp lr, 3b")


def _digits(emit: Assembler) -> None:
    emit.label(4)
    emit("cmp r3, #16", "ite lo", "movlo r7, r3", "movhs r7, #16", "dlstp.32 lr, r7")
    emit.label(3)
    _integers(emit)
    for digit in (2, 1):
        emit(f"vstrb.32 q0, [r1{f', #{LANES * (2 - digit)}' if digit < 2 else ''}]", "vrshr.s32 q0, q0, #8")
    emit(f"vstrb.32 q0, [r1, #{2 * LANES}]", "adds r1, r1, #4", "letp lr, 3b")
    emit(f"adds r1, r1, #{2 * LANES}", "subs r3, r3, #16", "bgt 4b")
