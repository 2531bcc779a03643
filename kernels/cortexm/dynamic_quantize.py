# SPDX-License-Identifier: MIT
"""DynamicQuantizeLinear in assembly: scale and zero point of the range, then levels, which are bytes without being limited.

Rounding never changes the order of two numbers, so every level lies between those of the lowest and of the highest number. That
of the lowest is 0, as the zero point is its quotient without the sign, and where that of the highest is at most 255, no other
needs a limit. Where it is not (both quotients lie in the middle of two levels and round up, or there is no scale, or a short
one, or numbers beyond a clamp are still there), levels are limited.
"""

from __future__ import annotations

import math

from aidge_build.contract.kernel_kit.dynamic import bits_of, bounds_in_c, end_name, measured_bounds

from .assembly import Routine

TOGETHER = 8
FEW = 200  # numbers with signs, up to which each is tried: as many as then take the same instructions either way
VALUES = ("r2", *(f"r{4 + index}" for index in range(TOGETHER - 1)))
MEASURED = tuple(f"r{4 + index}" for index in range(TOGETHER))
_OF_255 = 0x437F0000  # the pattern of 255.0
_IN_A_BLOCK = 4  # instructions that one IT makes conditional


def measure(is_above: bool, top: float, is_few: bool) -> tuple[str, str]:
    """Name and text of what finds scale and zero point of numbers clamped at `top`; `is_above`: those below 0 count as 0, as
    they do where there is a clamp; `is_few`: at most FEW numbers with signs.

    As integers, floats of one sign have the order of their magnitudes: the highest number is the largest integer with a sign, the
    lowest one the largest without. Most eights of numbers change neither: they are compared until one does. Of few numbers too
    many eights do: each number is tried.
    """
    name = f"aidge_cortexm_measure{'_above_0' * is_above}{end_name(top)}{'_few' * is_few}"
    limits = bounds_in_c(measured_bounds(is_above, top))
    code = Routine({"input": "r0", "count": "r3", "lowest": "r12", "highest": "lr", "spare": "r2"})
    code("push {{r2, r4-r11, lr}}", "r2: where the zero point goes")
    code("mov {lowest}, #0x80000000", "- 0")
    code("mov {highest}, #0")
    eights = 1 if is_few else 2
    code(f"subs {{count}}, {{count}}, #{eights * TOGETHER}")
    code("blt 2f")
    code.label(1, f"{eights * TOGETHER} numbers")
    for place in range(eights):
        _eight(code, is_above, top, is_few, place)
    code(f"subs {{count}}, {{count}}, #{eights * TOGETHER}")
    code("bge 1b")
    code.label(2)
    if not is_few:
        code(f"adds {{count}}, {{count}}, #{TOGETHER}")
        code("blt 5f")
        _eight(code, is_above, top, is_few, eights)
        code(f"subs {{count}}, {{count}}, #{TOGETHER}")
        code.label(5)
    code(f"adds {{count}}, {{count}}, #{TOGETHER}")
    code("beq 4f")
    code.label(3, "the numbers that are left")
    code("ldr r4, [{input}], #4")
    if is_few:
        _try(code, "r4", TOGETHER)
    else:
        _raise(code, "r4")
        if not is_above:
            _lower(code, "r4")
    code("subs {count}, {count}, #1")
    code("bne 3b")
    code.label(4)
    code("mov r7, #255", "the highest level that needs no limit")
    if top < math.inf:
        code.constant("r4", bits_of(top))
        code("cmp {highest}, r4")
        code("itt gt")
        code("movgt {highest}, r4")
        code("movgt r7, #-1", "numbers beyond the clamp do")
    code("vmov s0, s1, {lowest}, {highest}")
    code.constant("r4", _OF_255)
    code("vmov s3, r4")
    code("vsub.f32 s2, s1, s0")
    code("vdiv.f32 s2, s2, s3")
    code("vcmp.f32 s2, #0")
    code("vmrs APSR_nzcv, fpscr")
    code("itt le", "or no number")
    code("vmovle.f32 s2, #1.0")
    code("movle r7, #-1")
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
    code("cmp r6, r7")
    code("ite le")
    code("movle r0, #1")
    code("movgt r0, #0")
    code("pop {{r2, r4-r11, pc}}")
    code.print_behind()
    return name, code.function(
        name,
        "const float *input, float *scale, uint8_t *zero_point, int32_t count",
        "Scale and zero point; whether no level is beyond a byte.",
        f"return aidge_cortexm_measure_portable(input, scale, zero_point, count, {limits});",
        "int32_t",
    )


_RAISED, _LOWERED, _MEASURED, _KEPT = 10, 20, 30, 40  # labels, plus the place of the eight, or of a number, in the text


def _eight(code: Routine, is_above: bool, top: float, is_few: bool, place: int) -> None:
    """The range by 8 numbers: what is done where they are beyond it stands behind the function."""
    code("ldm {input}!, {{r4-r11}}")
    if is_few:
        for index, value in enumerate(MEASURED):
            _try(code, value, index)
        return
    _compare(code, "{highest}", "le")
    code(f"bgt {_RAISED + place}f")
    code.label(_MEASURED + place)
    if not is_above:
        _compare(code, "{lowest}", "ls")
        code(f"bhi {_LOWERED + place}f")
        code.label(_KEPT + place)
    code.behind(lambda: _beyond(code, is_above, top, place))


def _compare(code: Routine, end: str, condition: str) -> None:
    """8 numbers with an end of the range, until one does not meet the condition."""
    for index, value in enumerate(MEASURED):
        if index and (index - 1) % _IN_A_BLOCK == 0:
            code(f"i{'t' * min(_IN_A_BLOCK, TOGETHER - index)} {condition}")
        code(f"cmp{condition if index else ''} {value}, {end}")


def _beyond(code: Routine, is_above: bool, top: float, place: int) -> None:
    """Nothing is higher than the end of a clamp: where one number is, no more are looked at."""
    code.label(_RAISED + place)
    for value in MEASURED:
        _raise(code, value)
    if top < math.inf:
        code.constant("{spare}", bits_of(top))
        code("cmp {highest}, {spare}")
        code("bge 4b")
    code(f"b {_MEASURED + place}b")
    if not is_above:
        code.label(_LOWERED + place)
        for value in MEASURED:
            _lower(code, value)
        code(f"b {_KEPT + place}b")


def _try(code: Routine, value: str, place: int) -> None:
    """The range by a number with a sign."""
    for end, condition, changed, done in (("{highest}", "gt", _RAISED, _MEASURED), ("{lowest}", "hi", _LOWERED, _KEPT)):
        code(f"cmp {value}, {end}")
        code(f"b{condition} {changed + place}f")
        code.label(done + place)
        code.behind(lambda end=end, changed=changed, done=done: _take(code, end, value, changed + place, done + place))


def _take(code: Routine, end: str, value: str, label: int, back: int) -> None:
    code.label(label)
    code(f"mov {end}, {value}")
    code(f"b {back}b")


def _raise(code: Routine, value: str) -> None:
    code(f"cmp {value}, {{highest}}")
    code("it gt")
    code(f"movgt {{highest}}, {value}")


def _lower(code: Routine, value: str) -> None:
    code(f"cmp {value}, {{lowest}}")
    code("it hi")
    code(f"movhi {{lowest}}, {value}")


def levels(is_above: bool, is_limited: bool, is_short: bool) -> tuple[str, str]:
    """Name and text of what writes levels; `is_above`: the zero point is 0, and so are levels of what is below 0; without
    `is_limited` no other level is beyond a byte; `is_short`: less text, 8 values at a time instead of 16."""
    name = f"aidge_cortexm_levels{'_above_0' * is_above}{'_limited' * is_limited}{'_short' * is_short}"
    code = Routine({"input": "r0", "output": "r1", "zeros": "r3", "count": "r12"})
    code("ldr {count}, [sp]")
    code("push {{r4-r10}}")
    code("vldr s15, [r2]", "the scale")
    if not is_above:
        code("ldrb {zeros}, [r3]")
        if not is_limited:
            code("orr {zeros}, {zeros}, {zeros}, lsl #8")
            code("orr {zeros}, {zeros}, {zeros}, lsl #16")
    in_a_turn = TOGETHER if is_short else 2 * TOGETHER
    code(f"subs {{count}}, {{count}}, #{in_a_turn}")
    code("blt 2f")
    code.label(1, f"{in_a_turn} values")
    for _ in range(0, in_a_turn, TOGETHER):
        _words(code, TOGETHER, is_above, is_limited)
    code(f"subs {{count}}, {{count}}, #{in_a_turn}")
    code("bge 1b")
    code.label(2)
    if not is_short:
        code(f"adds {{count}}, {{count}}, #{TOGETHER}", f"how many more than {TOGETHER} are left")
        code("blt 6f")
        _words(code, TOGETHER, is_above, is_limited)
        code(f"subs {{count}}, {{count}}, #{TOGETHER}")
        code.label(6)
    code("adds {count}, {count}, #4", "how many more than 4 are left")
    code("blt 5f")
    _words(code, 4, is_above, is_limited)
    code("subs {count}, {count}, #4")
    code.label(5)
    code("adds {count}, {count}, #4")
    code("beq 4f")
    code.label(3, "the values that are left")
    _quotients(code, 1, is_above, is_limited)
    if not is_above and not is_limited:
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
        "Levels, limited." if is_limited else "Levels that all are bytes.",
        "aidge_cortexm_quantize_portable(input, output, NULL, *scale, *zero_point, count, 0, 255);",
    )


def _words(code: Routine, count: int, is_above: bool, is_limited: bool) -> None:
    """`count` values, which become bytes of words."""
    _quotients(code, count, is_above, is_limited)
    for first in range(0, count, 4):
        word, *others = VALUES[first : first + 4]
        if not is_above and not is_limited:
            code(f"add {word}, {word}, {{zeros}}")
        for place, value in enumerate(others, 1):
            code(f"add {word}, {word}, {value}, lsl #{8 * place}")
        code(f"str {word}, [{{output}}], #4")


def _quotients(code: Routine, count: int, is_above: bool, is_limited: bool) -> None:
    """Rounded, in the first `count` of VALUES; limited: the levels. Without a sign, what is below 0 becomes 0."""
    code(f"vldmia {{input}}!, {{{{s0-s{count - 1}}}}}" if count > 1 else "vldmia {input}!, {{s0}}")
    kind = "u32" if is_above and not is_limited else "s32"
    for operation in ("vdiv.f32 s{0}, s{0}, s15", f"vcvtr.{kind}.f32 s{{0}}, s{{0}}"):
        for index in range(count):
            code(operation.format(index))
    for index in range(0, count - 1, 2):
        code(f"vmov {VALUES[index]}, {VALUES[index + 1]}, s{index}, s{index + 1}")
    if count == 1:
        code(f"vmov {VALUES[0]}, s0")
    if not is_limited:
        return
    for operation in (*(() if is_above else ("qadd {0}, {0}, {{zeros}}",)), "usat {0}, #8, {0}"):
        for value in VALUES[:count]:
            code(operation.format(value))
