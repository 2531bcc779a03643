# SPDX-License-Identifier: MIT
"""tanh, the logistic function, and other quotients of polynomials, of float32 values in place."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.contract.kernel_kit.curves import SHORT

from .assembly import Routine
from .float32 import listed

NAME = "aidge_cortexm_curve"
_TOGETHER = 8  # values, which stay in registers of the FPU while they are changed
_INFINITY = 0xFF000000  # patterns are compared without their sign, one bit to the left


def curve_name(terms: int) -> str:
    """Returns the name of the function of curves with so many coefficients of P."""
    return NAME if terms == SHORT else f"{NAME}_of_{terms}"


def curve_text(terms: int = SHORT) -> str:
    """Returns the C text: 15 instructions for each value of a short curve, 8 values at a time. One load gives the coefficients,
    which the sums then overwrite."""
    code, places = Routine(), range(_TOGETHER)
    numbers, patterns = [f"%s.value{place}" for place in places], [f"%pattern{place}" for place in places]
    code("%enter")
    code(f"vldr %s.added, [%numbers, #{4 * (2 * terms - 1)}]")
    code(f"ldr %limit, [%numbers, #{4 * 2 * terms}]")
    code("lsl %limit, %limit, #1")
    code(f"mov %together, #{_TOGETHER}")
    code(f"subs %count, %count, #{_TOGETHER}")
    code("blt %rest")
    code.label("turn", f"{_TOGETHER} values")
    code(f"ldm %values, {listed(patterns)}")
    code(f"vldm %values, {listed(numbers)}")
    code(f"cmp %limit, {patterns[0]}, lsl #1")
    for some in (patterns[1:5], patterns[5:]):
        code(f"i{'t' * len(some)} hs")
        for pattern in some:
            code(f"cmphs %limit, {pattern}, lsl #1")
    code("blo %beyond")
    code.label("several")
    _values(code, numbers, terms)
    code(f"vstmia %values!, {listed(numbers)}")
    code(f"subs %count, %count, #{_TOGETHER}")
    code("bge %turn")
    code.label("rest", "values left over")
    code(f"adds %count, %count, #{_TOGETHER}")
    code("beq %done")
    code("mov %together, #1")
    code.label("one")
    code(f"ldr {patterns[0]}, [%values]")
    code(f"vldr {numbers[0]}, [%values]")
    code(f"cmp %limit, {patterns[0]}, lsl #1")
    code("blo %beyond")
    code.label("single")
    _values(code, numbers[:1], terms)
    code(f"vstmia %values!, {listed(numbers[:1])}")
    code("subs %count, %count, #1")
    code("bne %one")
    code.label("done")
    code("%leave")
    _beyond(code)
    code(f"vldr {numbers[0]}, [%values]")
    code("cmp %together, #1")
    code("beq %single")
    code(f"vldm %values, {listed(numbers)}")
    code("b %several")
    return code.function(
        curve_name(terms),
        "float *values, int32_t count, const float *numbers",
        "A curve of values, as kit/cells.h says.",
        f"aidge_kit_curve_of_{terms}(values, count, numbers);",
    )


def _beyond(code: Routine) -> None:
    """The values of a turn in memory, which become the limit with their sign unless they are within it or NaN."""
    code.label("beyond", "the limit")
    code.constant("%infinity", _INFINITY)
    code("mov %left, %together")
    code.label("next")
    code("ldr %pattern, [%values]")
    code("cmp %limit, %pattern, lsl #1")
    code("bhs %kept")
    code("cmp %infinity, %pattern, lsl #1")
    code("blo %kept")
    code("and %pattern, %pattern, #0x80000000")
    code("orr %pattern, %pattern, %limit, lsr #1")
    code.label("kept")
    code("str %pattern, [%values], #4")
    code("subs %left, %left, #1")
    code("bne %next")
    code("sub %values, %values, %together, lsl #2")


def _values(code: Routine, numbers: Sequence[str], terms: int) -> None:
    sums = [f"%s.sum{power}" for power in range(2 * terms - 1)]  # of the numerator, then of the denominator
    for value in numbers:
        code(f"vmul.f32 %s.square, {value}, {value}")
        code(f"vldm %numbers, {listed(sums)}")
        code(f"vadd.f32 {sums[terms]}, {sums[terms]}, %s.square")
        for power in (*range(1, terms), *range(terms + 1, 2 * terms - 1)):
            code(f"vfma.f32 {sums[power]}, {sums[power - 1]}, %s.square")
        code(f"vmul.f32 {sums[terms - 1]}, {sums[terms - 1]}, {value}")
        code(f"vdiv.f32 {value}, {sums[terms - 1]}, {sums[-1]}")
        code(f"vadd.f32 {value}, {value}, %s.added")
