# SPDX-License-Identifier: MIT
"""DynamicQuantizeLinear in assembly: scale and zero point of the range, then levels, which are bytes without being limited.

Rounding never changes the order of two numbers, so every level is between the levels of the lowest and of the highest number. The
level of the lowest is 0, as the zero point is its quotient without the sign. If the level of the highest is at most 255, no other
needs a limit. If it is not (both quotients are in the middle of two levels and round up, or there is no scale, or a short one, or
numbers beyond a clamp are still there), the function of QuantizeLinear computes the levels.
"""

from __future__ import annotations

import math

from aidge_build.contract.kernel_kit.dynamic import bits_of, end_name

from ..core.assembly import Routine
from ..core.float32 import in_turns, listed
from .quantize import quotients

TOGETHER = 8
FEW = 4
_OF_255 = 0x437F0000  # the pattern of 255.0


def measure(is_above: bool, top: float) -> tuple[str, str]:
    """Name and text of a function that finds scale and zero point of numbers clamped at `top`; `is_above`: those below 0 count as
    0, as they do if there is a clamp. It returns whether no level is beyond a byte.

    As integers, floats of one sign have the order of their magnitudes: the highest number is the largest integer with a sign, the
    lowest one the largest without.
    """
    name = f"aidge_cortexm_measure{'_above_0' * is_above}{end_name(top)}"
    code = Routine()
    found: list[tuple[str, str]] = []  # an end of the range, and the number beyond it
    code("%enter")
    code("put %scale, %zero_point")
    code("mov %lowest, #0x80000000", "- 0")
    code("mov %highest, #0")
    in_turns(code, TOGETHER, lambda count: _try(code, count, is_above, found))
    code("mov %most, #255", "the highest level that needs no limit")
    if top < math.inf:
        code.constant("%top", bits_of(top))
        code("cmp %highest, %top")
        code("itt gt")
        code("movgt %highest, %top")
        code("movgt %most, #-1", "numbers beyond the clamp do")
    code("vmov %s.lowest, %s.highest, %lowest, %highest")
    code.constant("%pattern", _OF_255)
    code("vmov %s.steps, %pattern")
    code("vsub.f32 %s.step, %s.highest, %s.lowest")
    code("vdiv.f32 %s.step, %s.step, %s.steps")
    code("vcmp.f32 %s.step, #0")
    code("vmrs APSR_nzcv, fpscr")
    code("itt le", "or no number")
    code("vmovle.f32 %s.step, #1.0")
    code("movle %most, #-1")
    code("vneg.f32 %s.lowest, %s.lowest")
    for operation in ("vdiv.f32 {0}, {0}, %s.step", "vcvtr.s32.f32 {0}, {0}"):
        for end in ("%s.lowest", "%s.highest"):
            code(operation.format(end))
    code("vmov %zero, %level, %s.lowest, %s.highest")
    code("get %scale, %zero_point")
    code("vstr %s.step, [%scale]")
    code("add %level, %level, %zero", "the highest level")
    code("usat %zero, #8, %zero")
    code("strb %zero, [%zero_point]")
    code("mov %are_bytes, #0")
    code("cmp %level, %most")
    code("it le")
    code("movle %are_bytes, #1")
    code("%leave %are_bytes")
    for place, (end, number) in enumerate(found):
        code.label(f"beyond_{place}")
        code(f"mov {end}, {number}")
        code(f"b %tried_{place}")
    return name, code.function(
        name,
        "const float *input, float *scale, uint8_t *zero_point, int32_t count",
        "Scale and zero point; whether no level is beyond a byte.",
        result="int32_t",
    )


def _try(code: Routine, count: int, is_above: bool, found: list[tuple[str, str]]) -> None:
    """The range by some numbers; the instructions for a number beyond it follow behind the function."""
    numbers = [f"%number{index}" for index in range(count)]
    code(f"ldm %input!, {listed(numbers)}")
    for number in numbers:
        for end, condition in (("%highest", "gt"), ("%lowest", "hi"))[: 1 if is_above else 2]:
            code(f"cmp {number}, {end}")
            code(f"b{condition} %beyond_{len(found)}")
            code.label(f"tried_{len(found)}")
            found.append((end, number))


def levels(is_above: bool) -> tuple[str, str]:
    """Name and text of a function that writes levels, of which none is beyond a byte; `is_above`: the zero point is 0, and so are
    the levels of numbers below 0."""
    name = f"aidge_cortexm_levels{'_above_0' * is_above}"
    code = Routine()
    code("%enter")
    code("ldr %count, [%argument.4]")
    code("vldr %s.scale, [%scale]")
    if not is_above:
        code("ldrb %zeros, [%zero_point]")
        code("orr %zeros, %zeros, %zeros, lsl #8")
        code("orr %zeros, %zeros, %zeros, lsl #16")
    code(f"subs %count, %count, #{TOGETHER}")
    code("blt %rest")
    code.align()
    code.label("turn", f"{TOGETHER} values")
    _levels(code, TOGETHER, is_above)
    code(f"subs %count, %count, #{TOGETHER}")
    code("bge %turn")
    code.label("rest")
    code(f"adds %count, %count, #{TOGETHER - FEW}", f"how many more than {FEW} are left")
    code("blt %few")
    _levels(code, FEW, is_above)
    code(f"subs %count, %count, #{FEW}")
    code.label("few")
    code(f"adds %count, %count, #{FEW}")
    code("beq %done")
    code.label("one", "a value that is left")
    _levels(code, 1, is_above)
    code("subs %count, %count, #1")
    code("bne %one")
    code.label("done")
    code("%leave")
    return name, code.function(
        name,
        "const float *input, uint8_t *output, const float *scale, const uint8_t *zero_point, int32_t count",
        "Levels that all are bytes.",
    )


def _levels(code: Routine, count: int, is_above: bool) -> None:
    """Levels of `count` values: one, or bytes of words. Without a sign, numbers below 0 become 0."""
    words = quotients(code, count, "u32" if is_above else "s32")
    for first in range(0, count, 4):
        word, *others = words[first : first + 4]
        if not is_above:
            code(f"add {word}, {word}, %zeros")
        for place, value in enumerate(others, 1):
            code(f"add {word}, {word}, {value}, lsl #{8 * place}")
        code(f"str {word}, [%output], #4" if count > 1 else f"strb {word}, [%output], #1")
