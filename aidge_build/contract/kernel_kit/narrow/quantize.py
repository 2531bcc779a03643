# SPDX-License-Identifier: MIT
"""QuantizeLinear of many floats: a guess from the pattern of the float, and the key of one step."""

from __future__ import annotations

from typing import ClassVar

from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.quantize_guess import LEVELS, PARAMETERS, QuantizeByGuess
from aidge_build.contract.kernel_kit.routine import Routine
from aidge_build.operators.arithmetic.float_thresholds import GUESS_BITS


class QuantizeInt8(QuantizeByGuess):
    """A library's subclass names its `core` and its `function`."""

    core: ClassVar[Core]

    def text(self) -> str:
        return _text(self.core.on(self.view.features), self.function)


def _text(core: Core, name: str) -> str:
    code = core.emitter()
    code("%enter.low")
    code("mov %all_keys, %keys")
    code("ldr %count, [%argument.4]")
    code("ldm %numbers!, {%shift, %spare, %multiplier, %level}", "shift, last exponent, multiplier, start")
    code("mov %last, %spare")
    code("mov %start, %level")
    code("ldr %spare, [%numbers]", "zero point")
    code("adds %spare, #128")
    code("mov %zero, %spare", "steps that 0 has reached")
    code("movs %spare, #127")
    code("mvns %spare, %spare")
    code("mov %less, %spare", "-128: from steps to levels")
    if not code.has_carry:
        code("movs %most_shift, #31", "shifts take 5 bits")
        code(f"movs %most_steps, #{LEVELS - 2}")
    code("movs %top, #1")
    code("lsls %top, %top, #31")
    code("lsls %count, %count, #2")
    code("add %count, %input")
    code("mov %end, %count")
    code.label("turn")
    _level(code)
    code.label("store")
    code("strb %level, [%output]")
    code("adds %output, #1")
    code("cmp %input, %end")
    code("bne %turn")
    code("%leave")
    _outside(code)
    return code.function(name, PARAMETERS, "float32 to int8 by a guess and the key of one step.")


def _level(code: Routine) -> None:
    """The level of the value that %input is at; it moves on."""
    code("ldm %input!, {%pattern}")
    code("lsls %spare, %pattern, #1")
    code("lsrs %spare, %spare, #24", "exponent")
    code("cmp %spare, %last")
    code("bhi %far")
    code("subs %spare, %shift, %spare")
    if not code.has_carry:
        code("cmp %spare, %most_shift")
        code("bhi %near")
    code("lsls %level, %pattern, #8")
    code("orrs %level, %top")
    code("lsrs %level, %spare")
    code.label("guess")
    code("muls %level, %multiplier")
    code("add %level, %start")
    code(f"lsrs %level, %level, #{GUESS_BITS}")
    code("asrs %spare, %pattern, #31", "sign")
    code("eors %level, %spare")
    code("add %level, %zero")
    code(f"cmp %level, #{LEVELS - 2}" if code.has_carry else "cmp %level, %most_steps")
    code("bhi %full")
    code.label("on")
    code("orrs %spare, %top")
    code("eors %pattern, %spare", "its order, without sign")
    code("lsls %spare, %level, #2")
    code("add %spare, %all_keys")
    code("ldr %spare, [%spare]")
    if code.has_carry:
        code("cmp %pattern, %spare", "carry: the step is reached")
        code("mov %spare, %less")
        code("adcs %level, %spare")
        return
    code("adds %level, %level, %less")
    code("cmp %pattern, %spare")
    code("blo %store")
    code("adds %level, %level, #1", "the step is reached")


def _outside(code: Routine) -> None:
    """Values beyond all steps or none."""
    code.label("far", "beyond all steps, or NaN")
    code("lsls %spare, %pattern, #1")
    code("movs %level, #255")
    code("lsls %level, %level, #24")
    code("cmp %spare, %level")
    code("bhi %nan")
    code("asrs %level, %pattern, #31")
    code("movs %spare, #127")
    code("eors %level, %spare")
    code("b %store")
    code.label("nan")
    code("mov %level, %zero")
    code("subs %level, #128")
    code("b %store")
    if not code.has_carry:
        code.label("near", "0 in the guess's unit")
        code("movs %level, #0")
        code("b %guess")
    code.label("full", "all steps but one, or none")
    code("asrs %level, %level, #31")
    code("mvns %level, %level")
    code(f"movs %spare, #{LEVELS - 2}")
    code("ands %level, %spare")
    code("asrs %spare, %pattern, #31")
    code("b %on")
