# SPDX-License-Identifier: MIT
"""DynamicQuantizeLinear in assembly: scale and zero point of the range, then levels, which are bytes without being limited.

Rounding never changes the order of two numbers, so every level lies between those of the lowest and of the highest number. That
of the lowest is 0, as the zero point is its quotient without the sign, and where that of the highest is at most 255, no other
needs a limit. Where it is not (both quotients lie in the middle of two levels and round up, or there is no scale, or a short
one), `quantize.routine` limits.
"""

from __future__ import annotations

from .assembly import Routine

TOGETHER = 8
VALUES = ("r2", *(f"r{4 + index}" for index in range(TOGETHER - 1)))
_OF_255 = 0x437F0000  # the pattern of 255.0


def measure(is_above: bool) -> tuple[str, str]:
    """Name and text of what finds scale and zero point; `is_above`: of numbers of which none is negative.

    As integers, floats of one sign have the order of their magnitudes: the highest number is the largest integer with a sign, the
    lowest one the largest without. `state` is the highest so far less 2^31: the state less a larger number saturates at -2^31,
    to which the number is added, and any other difference plus the number is the state again.
    """
    name = f"aidge_cortexm_measure{'_above_0' * is_above}"
    code = Routine({"input": "r0", "count": "r3", "lowest": "r12", "state": "lr", "difference": "r2"})
    code("push {{r2, r4-r11, lr}}", "r2: where the zero point goes")
    code("mov {lowest}, #0x80000000", "- 0")
    code("mov {state}, #0x80000000")
    code("subs {count}, {count}, #8")
    code("blt 2f")
    code.label(1, "8 numbers")
    code("ldm {input}!, {{r4-r11}}")
    for place in range(TOGETHER):
        _widen(code, f"r{4 + place}", is_above, place)
    code("subs {count}, {count}, #8")
    code("bge 1b")
    code.label(2)
    code("adds {count}, {count}, #8")
    code("beq 4f")
    code.label(3, "the numbers that are left")
    code("ldr r4, [{input}], #4")
    _widen(code, "r4", is_above, TOGETHER)
    code("subs {count}, {count}, #1")
    code("bne 3b")
    code.label(4)
    code("eor {state}, {state}, #0x80000000")
    code("vmov s0, s1, {lowest}, {state}")
    code.constant("r4", _OF_255)
    code("vmov s3, r4")
    code("vsub.f32 s2, s1, s0")
    code("vdiv.f32 s2, s2, s3")
    code("mov r4, #255")
    code("vcmp.f32 s2, #0")
    code("vmrs APSR_nzcv, fpscr")
    code("itt le", "or no number")
    code("vmovle.f32 s2, #1.0")
    code("movle r4, #-1")
    code("vneg.f32 s0, s0")
    for operation in ("vdiv.f32 s{0}, s{0}, s2", "vcvtr.s32.f32 s{0}, s{0}"):
        for end in range(2):
            code(operation.format(end))
    code("vmov r5, r6, s0, s1")
    code("vstr s2, [r1]")
    code("add r6, r6, r5", "the highest level")
    code("usat r5, #8, r5")
    code("ldr r2, [sp]")
    code("strb r5, [r2]")
    code("cmp r6, r4")
    code("ite le")
    code("movle r0, #1")
    code("movgt r0, #0")
    code("pop {{r2, r4-r11, pc}}")
    code.print_behind()
    return name, code.function(
        name,
        "const float *input, float *scale, uint8_t *zero_point, int32_t count",
        "Scale and zero point; whether no level is beyond a byte.",
        "return aidge_cortexm_measure_portable(input, scale, zero_point, count);",
        "int32_t",
    )


_LOWER, _WIDENED = 10, 30  # labels: where a number is the lowest, where it is done; plus its place in the text


def _widen(code: Routine, value: str, is_above: bool, place: int) -> None:
    """The range by a number: few are the lowest so far, what becomes of them stands behind the function."""
    if not is_above:
        code(f"cmp {value}, {{lowest}}")
        code(f"bhi {_LOWER + place}f")
        code.label(_WIDENED + place)
        code.behind(lambda: _lower(code, value, place))
    code(f"qsub {{difference}}, {{state}}, {value}")
    code(f"add {{state}}, {{difference}}, {value}")


def _lower(code: Routine, value: str, place: int) -> None:
    code.label(_LOWER + place)
    code(f"mov {{lowest}}, {value}")
    code(f"b {_WIDENED + place}b")


def levels(is_above: bool) -> tuple[str, str]:
    """Name and text of what writes levels that all are bytes; `is_above`: the zero point is 0."""
    name = f"aidge_cortexm_levels{'_above_0' * is_above}"
    code = Routine({"input": "r0", "output": "r1", "zeros": "r3", "count": "r12"})
    code("ldr {count}, [sp]")
    code("push {{r4-r10}}")
    code("vldr s15, [r2]", "the scale")
    if not is_above:
        code("ldrb {zeros}, [r3]")
        code("orr {zeros}, {zeros}, {zeros}, lsl #8")
        code("orr {zeros}, {zeros}, {zeros}, lsl #16")
    code(f"subs {{count}}, {{count}}, #{TOGETHER}")
    code("blt 2f")
    code.label(1, f"{TOGETHER} values")
    _words(code, TOGETHER, is_above)
    code(f"subs {{count}}, {{count}}, #{TOGETHER}")
    code("bge 1b")
    code.label(2)
    code("adds {count}, {count}, #4", "how many more than 4 are left")
    code("blt 5f")
    _words(code, 4, is_above)
    code("subs {count}, {count}, #4")
    code.label(5)
    code("adds {count}, {count}, #4")
    code("beq 4f")
    code.label(3, "the values that are left")
    _quotients(code, 1)
    if not is_above:
        code(f"add {VALUES[0]}, {VALUES[0]}, {{zeros}}")
    code(f"strb {VALUES[0]}, [{{output}}], #1")
    code("subs {count}, {count}, #1")
    code("bne 3b")
    code.label(4)
    code("pop {{r4-r10}}")
    code("bx lr")
    return name, code.function(
        name,
        "const float *input, uint8_t *output, const float *scale, const uint8_t *zero_point, int32_t count",
        "Levels that all are bytes.",
        "aidge_cortexm_quantize_portable(input, output, NULL, *scale, *zero_point, count, 0, 255);",
    )


def _words(code: Routine, count: int, is_above: bool) -> None:
    """`count` values, which become bytes of words."""
    _quotients(code, count)
    for first in range(0, count, 4):
        word, *others = VALUES[first : first + 4]
        if not is_above:
            code(f"add {word}, {word}, {{zeros}}")
        for place, value in enumerate(others, 1):
            code(f"add {word}, {word}, {value}, lsl #{8 * place}")
        code(f"str {word}, [{{output}}], #4")


def _quotients(code: Routine, count: int) -> None:
    """Rounded, in the first `count` of VALUES."""
    code(f"vldmia {{input}}!, {{{{s0-s{count - 1}}}}}" if count > 1 else "vldmia {input}!, {{s0}}")
    for operation in ("vdiv.f32 s{0}, s{0}, s15", "vcvtr.s32.f32 s{0}, s{0}"):
        for index in range(count):
            code(operation.format(index))
    for index in range(0, count - 1, 2):
        code(f"vmov {VALUES[index]}, {VALUES[index + 1]}, s{index}, s{index + 1}")
    if count == 1:
        code(f"vmov {VALUES[0]}, s0")
