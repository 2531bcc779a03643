# SPDX-License-Identifier: MIT
"""QuantizeLinear of many floats without an FPU: a guess from the pattern of the float, and the key of one step."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.quantize_guess import LEVELS, PARAMETERS, QuantizeByGuess, guess_spec
from aidge_build.contract.node import kernel
from aidge_build.operators.arithmetic.float_thresholds import GUESS_BITS

from ..core.assembly import Code
from ..core.conditions import FEATURES

NAME = "aidge_armv7m_quantize_int8"


@kernel("QuantizeLinear", guess_spec(FEATURES))
class QuantizeInt8(QuantizeByGuess):
    function = NAME

    def text(self) -> str:
        return _text()


def _text() -> str:
    code = Code()
    code("%enter")
    code("ldm %numbers, {%shift, %last, %multiplier, %start, %zero}")
    code("ldr %count, [%argument.4]")
    code(f"add %keys, %keys, #{LEVELS // 2 * 4}", "the key that follows level 0")
    code.align()
    code.label("turn")
    code("ldr %pattern, [%input], #4")
    code("ubfx %spare, %pattern, #23, #8", "exponent")
    code("cmp %spare, %last")
    code("bhi %beyond")
    code("sub %spare, %shift, %spare")
    code("lsl %level, %pattern, #8")
    code("orr %level, %level, #0x80000000")
    code("lsr %level, %level, %spare")
    code("mla %level, %level, %multiplier, %start")
    code("asr %sign, %pattern, #31")
    code(f"eor %level, %sign, %level, lsr #{GUESS_BITS}")
    code("add %level, %level, %zero")
    code("ssat %level, #8, %level")
    code("orr %sign, %sign, #0x80000000")
    code("eor %pattern, %pattern, %sign", "its order, without sign")
    code("ldr %spare, [%keys, %level, lsl #2]")
    code("cmp %pattern, %spare", "carry: the step is reached")
    code("adc %level, %level, #0")
    code.label("store")
    code("subs %count, %count, #1")
    code("strb %level, [%output], #1")
    code("bne %turn")
    code("%leave")
    code.label("beyond", "all steps, or NaN")
    code("lsl %spare, %pattern, #1")
    code("asr %level, %pattern, #31")
    code("cmp %spare, #0xFF000000")
    code("eor %level, %level, #127")
    code("it hi")
    code("movhi %level, %zero")
    code("b %store")
    return code.function(NAME, PARAMETERS, "float32 to int8 by a guess and the key of one step.")
