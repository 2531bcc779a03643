# SPDX-License-Identifier: MIT
"""QuantizeLinear of many floats without an FPU: a guess from the pattern of the float, and the key of one step."""

from __future__ import annotations

import numpy

from aidge_build.arithmetic.float_thresholds import GUESS_BITS, KeyGuess, key_guess, quantize_keys
from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.conditions import CONSTANT_PARAMETERS

from .assembly import Code
from .conditions import FEATURES

NAME = "aidge_armv7m_quantize_int8"
PARAMETERS = "const float *input, int8_t *output, const int32_t *keys, const int32_t *numbers, int32_t count"
FEWEST_VALUES = 64  # that pay for the keys
TOGETHER = 2  # values of a turn
LEVELS = 256
_MOST_SHIFT = 255  # that an instruction takes from a register
_BEYOND = 10  # labels: of each value in the text, where it saturates and where it goes on


def _few(view: NodeView) -> str:
    count = view.outputs[0].elements
    return "" if count >= FEWEST_VALUES else f"{count} values, wants at least {FEWEST_VALUES}"


def _other_core(view: NodeView) -> str:
    return "the core has an FPU" if "fpu" in view.features else ""


def _least_flash(view: NodeView) -> str:
    return "" if view.objective != "size" else "it needs a table of 1 KB (--optimize size)"


def _no_guess(view: NodeView) -> str:
    if view.inputs[1].elements > 1:
        return "several scales"
    return "" if _guess(view) is not None else "no guess from the pattern of a float is proved"


def _quantization(view: NodeView):
    return view.operator.quantization(view.inputs[1], view.inputs[2] if len(view.inputs) > 2 else None)


def _guess(view: NodeView) -> KeyGuess | None:
    quantization = _quantization(view)
    found = key_guess(quantization, quantize_keys(quantization, DType.int8), LEVELS - 1)
    return found if found is not None and found.shift <= _MOST_SHIFT else None


@kernel(
    "QuantizeLinear",
    ImplSpec(
        inputs=(IOSpec(DType.float32, SAME), IOSpec(DType.float32, ANY), IOSpec(DType.int8, ANY)),
        outputs=(IOSpec(DType.int8, SAME),),
        features=FEATURES,
        predicates=(
            CONSTANT_PARAMETERS,
            Predicate("no FPU", _other_core),
            Predicate(f"at least {FEWEST_VALUES} values", _few),
            Predicate("room for a table", _least_flash),
            Predicate("one scale with a guess that is proved", _no_guess),
        ),
    ),
)
class QuantizeInt8(KernelNode):
    assembly = "helps"

    def call(self) -> Call:
        quantization, guess = _quantization(self.view), _guess(self.view)
        assert guess is not None
        steps = quantize_keys(quantization, DType.int8)
        last = (guess.first + guess.span >> 24) - 1  # exponent, as floats store it
        numbers = [guess.shift, last, guess.multiplier, guess.start, quantization.zero_point]
        return Call(
            NAME,
            ("target.h",),
            (
                Input(0),
                Output(0),
                Constant("keys", numpy.append(steps, numpy.int32(2**31 - 1))),  # which no number reaches
                Constant("numbers", numpy.array(numbers, numpy.int64).astype(numpy.uint32).view(numpy.int32)),
                Literal(self.outputs[0].elements),
            ),
            texts=(_text(),),
            facts=computed(f"{TOGETHER} values"),
        )


def _text() -> str:
    code = Code(
        {
            **{"input": "r0", "output": "r1", "keys": "r2", "count": "r3"},
            **{"shift": "r4", "last": "r5", "multiplier": "r6", "start": "r7", "zero": "r8"},
            **{"pattern": "r9", "spare": "r10", "level": "r11", "sign": "r12"},
        }
    )
    places: list[int] = []
    code("push {{r4-r11}}")
    code("ldm r3, {{r4-r8}}", "shift, last exponent, multiplier, start, zero point")
    code("ldr {count}, [sp, #32]")
    code(f"add {{keys}}, {{keys}}, #{LEVELS // 2 * 4}", "the key that follows level 0")
    code.values(lambda: _value(code, places), TOGETHER)
    code("pop {{r4-r11}}")
    code("bx lr")
    for place in places:
        code.label(place, "beyond all steps, or NaN")
        code("lsl {spare}, {pattern}, #1")
        code("asr {level}, {pattern}, #31")
        code("cmp {spare}, #0xFF000000")
        code("eor {level}, {level}, #127")
        code("it hi")
        code("movhi {level}, {zero}")
        code(f"b {place + 1}b")
    return code.function(NAME, PARAMETERS, "float32 to int8 by a guess and the key of one step.", _PORTABLE)


def _value(code: Code, places: list[int]) -> None:
    place = _BEYOND + 2 * len(places)
    places.append(place)
    code("ldr {pattern}, [{input}], #4")
    code("ubfx {spare}, {pattern}, #23, #8", "exponent")
    code("cmp {spare}, {last}")
    code(f"bhi {place}f")
    code("sub {spare}, {shift}, {spare}")
    code("lsl {level}, {pattern}, #8")
    code("orr {level}, {level}, #0x80000000")
    code("lsr {level}, {level}, {spare}")
    code("mla {level}, {level}, {multiplier}, {start}")
    code("asr {sign}, {pattern}, #31")
    code(f"eor {{level}}, {{sign}}, {{level}}, lsr #{GUESS_BITS}")
    code("add {level}, {level}, {zero}")
    code("ssat {level}, #8, {level}")
    code("eor {pattern}, {pattern}, {sign}, lsr #1", "its order")
    code("ldr {spare}, [{keys}, {level}, lsl #2]")
    code("cmp {pattern}, {spare}")
    code("it ge")
    code("addge {level}, {level}, #1")
    code.label(place + 1)
    code("strb {level}, [{output}], #1")


_PORTABLE = f"""for (; count > 0; count--) {{
        const float number = *input++; /* before its bytes are taken: what is known of its address would be lost */
        uint32_t pattern, sign;
        int32_t exponent, level;
        (void)memcpy(&pattern, &number, sizeof pattern);
        sign = (pattern >> 31) != 0u ? 0xFFFFFFFFu : 0u;
        exponent = (int32_t)((pattern >> 23) & 0xFFu);
        if (exponent > numbers[1]) {{
            level = (pattern << 1) > 0xFF000000u ? numbers[4] : (int32_t)(127u ^ sign);
        }} else {{
            const int32_t dropped = numbers[0] - exponent;
            const uint32_t value = dropped < 32 ? ((pattern << 8) | 0x80000000u) >> dropped : 0u;
            level = (int32_t)(sign ^ ((value * (uint32_t)numbers[2] + (uint32_t)numbers[3]) >> {GUESS_BITS})) + numbers[4];
            level = level < -128 ? -128 : level > 127 ? 127 : level;
            level += (int32_t)(pattern ^ (sign >> 1)) >= keys[level + 128] ? 1 : 0;
        }}
        *output++ = (int8_t)level;
    }}"""
