# SPDX-License-Identifier: MIT
"""float32 Gelu, Swish and Elu: a cubic for each of 256 pieces of the line, eight values at a time."""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy

from aidge_build.contract.call import Call, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.curves import HAS_CURVE, TIMES_CURVES, element_curve
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from .assembly import Routine
from .float32 import FEATURES

NAME = "aidge_cortexm_pieces_float32"
HALF = 128  # pieces on each side of 0; the last ones go on without an end
_COEFFICIENTS, _POINTS = 4, 16  # of a piece; where it is fitted
_TOGETHER = 8  # values
ELU_LIMIT = 16.0
WORTH = 1024  # values for which --optimize balanced spends the flash
LEAST_STEPS, MOST_STEPS = 0.125, 16.0  # pieces for each unit: what vmov.f32 holds
_INFINITY = 0xFF000000  # a pattern without its sign, one bit to the left


def _steps_of(operator: Any) -> float:
    """Pieces for each unit of x, a power of 2, so that they reach both ends of the curve, or nearly."""
    limit = ELU_LIMIT if operator.type == "Elu" else float(element_curve(operator)[0][-1])
    return float(2.0 ** math.floor(math.log2(1.02 * HALF / limit)))


def _too_wide(view: NodeView) -> str:
    if getattr(view.operator, "alpha", 1.0) < 0:
        return "alpha is negative"
    return "" if LEAST_STEPS <= _steps_of(view.operator) <= MOST_STEPS else "the curve is too flat or too steep"


def _too_few(view: NodeView) -> str:
    """4,096 bytes of pieces save 8 instructions a value."""
    if view.objective == "size" or (view.objective == "balanced" and view.inputs[0].elements < WORTH):
        return f"{2 * HALF * _COEFFICIENTS * 4:,} bytes of pieces for {view.inputs[0].elements:,} values"
    return ""


FLOAT = IOSpec(DType.float32, SAME)
WORTHWHILE = Predicate("values worth the flash", _too_few)
WIDTH = Predicate("pieces of fitting length", _too_wide)


@kernel(TIMES_CURVES, ImplSpec((FLOAT,), (FLOAT,), features=FEATURES, predicates=(WORTHWHILE, REAL, HAS_CURVE, WIDTH)))
class Pieces(KernelNode):
    def call(self) -> Call:
        """The pieces depend on no weight: they stand once in the code, whatever the number of layers."""
        steps = _steps_of(self.operator)
        coefficients = pieces_of(self.operator, steps)
        own = f"{NAME}_{zlib.crc32(coefficients.tobytes()):08x}"
        texts = (pieces_text(steps), _own_text(own, coefficients, _routine_name(steps)))
        arguments = (Input(0), Output(0), Literal(self.outputs[0].elements))
        return Call(own, ("float32.h",), arguments, texts=texts, facts=computed("8 values"))


@kernel("Elu", ImplSpec((FLOAT,), (FLOAT,), features=FEATURES, predicates=(WORTHWHILE, REAL)))
class PiecesOfElu(Pieces, ElementWise):
    pass


def pieces_of(operator: Any, steps: float) -> numpy.ndarray:
    """The coefficients of each piece in powers of steps * x, the constant first, float32.

    Piece HALF + n is where steps * x is from n to n + 1. The first one is the limit far below 0, the last one is x. Elu may bend
    at 0: its piece below 0 has no constant, so that numbers near 0 keep their bits, and its pieces above 0 are x.
    """
    rows = numpy.zeros((2 * HALF, _COEFFICIENTS), numpy.float32)
    nodes = (numpy.cos((numpy.arange(_POINTS) + 0.5) * math.pi / _POINTS) + 1) / 2
    for row in range(1, 2 * HALF - 1):
        place = row - HALF + nodes
        rows[row] = numpy.polynomial.Polynomial.fit(place, operator.forward(place / steps), _COEFFICIENTS - 1).convert().coef
    rows[-1] = (0, 1 / steps, 0, 0)
    if operator.type == "Elu":
        rows[0, 0] = operator.forward(numpy.array(-math.inf))
        slopes = operator.forward((nodes - 1) / steps) / (nodes - 1)
        rows[HALF - 1] = (0, *numpy.polynomial.Polynomial.fit(nodes - 1, slopes, _COEFFICIENTS - 2).convert().coef)
        rows[HALF:] = rows[-1]
    return rows


def _own_text(name: str, coefficients: numpy.ndarray, routine: str) -> str:
    numbers = [f"{float(number):.9g}" for number in coefficients.reshape(-1)]
    floats = [number + ("f" if "." in number or "e" in number else ".0f") for number in numbers]
    lines = "\n".join("    " + " ".join(f"{number}," for number in floats[at : at + 8]) for at in range(0, len(floats), 8))
    return f"""static const float {name}_pieces[{len(floats)}] = {{
{lines}
}};

static void {name}(const float *x, float *y, int32_t count)
{{
    {routine}(x, y, {name}_pieces, count);
}}
"""


def _routine_name(steps: float) -> str:
    return f"{NAME}_{int(steps / LEAST_STEPS)}"


def pieces_text(steps: float) -> str:
    """12 instructions for each value. A piece's coefficients are in one load, whose first register then holds the result."""
    code, first = Routine({}), _TOGETHER
    last = first + _TOGETHER + _COEFFICIENTS
    code("cmp r3, #0")
    code("ble 7f")
    code("push {{r4-r11, lr}}")
    code(f"vpush {{{{s16-s{last}}}}}")
    code(f"add r2, r2, #{HALF * _COEFFICIENTS * 4}", "the piece of 0")
    code.constant("r12", _INFINITY)
    code(f"vmov.f32 s{last}, #{steps}")
    code(f"vmov.f32 s{last - 1}, #0.5")
    code(f"subs r3, r3, #{_TOGETHER}")
    code("blt 4f")
    code.label(1, f"{_TOGETHER} values")
    code("ldm r0, {{r4-r11}}")
    code("cmp r12, r4, lsl #1")
    for group in (range(5, 9), range(9, 12)):
        code(f"i{'t' * len(group)} hi")
        for value in group:
            code(f"cmphi r12, r{value}, lsl #1")
    code("bls 8f")
    code(f"vldmia r0!, {{{{s0-s{_TOGETHER - 1}}}}}")
    _pieces(code, _TOGETHER, last)
    code(f"vstmia r1!, {{{{s{first}-s{first + _TOGETHER - 1}}}}}")
    code(f"subs r3, r3, #{_TOGETHER}")
    code("bge 1b")
    code.label(4, "values left over")
    code(f"adds r3, r3, #{_TOGETHER}")
    code("beq 6f")
    code("mov lr, r3")
    code.label(5, "lr values, one by one; an infinite one becomes itself or what the first piece holds")
    code("ldr r4, [r0]")
    code("vldmia r0!, {{s0}}")
    code("cmp r12, r4, lsl #1")
    code("beq 9f")
    _pieces(code, 1, last)
    code.label(10)
    code(f"vstmia r1!, {{{{s{first}}}}}")
    code("subs r3, r3, #1")
    code("subs lr, lr, #1")
    code("bne 5b")
    code("cmp r3, #0")
    code("beq 6f")
    code(f"subs r3, r3, #{_TOGETHER}")
    code("bge 1b")
    code("b 4b")
    code.label(6)
    code(f"vpop {{{{s16-s{last}}}}}")
    code("pop {{r4-r11, pc}}")
    code.label(7)
    code("bx lr")
    code.label(8, "one is infinite or NaN")
    code(f"mov lr, #{_TOGETHER}")
    code(f"add r3, r3, #{_TOGETHER}")
    code("b 5b")
    code.label(9)
    code(f"vmov.f32 s{first}, s0")
    code("cmp r4, #0")
    code("bge 10b")
    code(f"sub r5, r2, #{HALF * _COEFFICIENTS * 4}")
    code(f"vldr s{first}, [r5]")
    code("b 10b")
    return code.function(
        _routine_name(steps),
        "const float *x, float *y, const float *pieces, int32_t count",
        "y = a cubic of x, one for each piece. May work in place.",
        _portable(steps),
    )


def _pieces(code: Routine, count: int, steps: int) -> None:
    """The cubics of s0, s1, ... in s8, s9, ...; register `steps` holds the pieces for each unit, the one before half a piece."""
    values = range(count)
    for value in values:
        code(f"vmul.f32 s{value}, s{value}, s{steps}")
    for value in values:
        code(f"vsub.f32 s{_TOGETHER + value}, s{value}, s{steps - 1}")
        code(f"vcvtr.s32.f32 s{_TOGETHER + value}, s{_TOGETHER + value}")
    for value in values[: count - count % 2 : 2]:
        code(f"vmov r{4 + value}, r{5 + value}, s{_TOGETHER + value}, s{_TOGETHER + value + 1}")
    if count % 2:
        code(f"vmov r{3 + count}, s{_TOGETHER + count - 1}")
    for value in values:
        code(f"ssat r{4 + value}, #{HALF.bit_length()}, r{4 + value}")
        code(f"add r{4 + value}, r2, r{4 + value}, lsl #4")
    for value in values:
        result = _TOGETHER + value
        code(f"vldm r{4 + value}, {{{{s{result}-s{result + _COEFFICIENTS - 1}}}}}")
        for power in range(_COEFFICIENTS - 2, -1, -1):
            code(f"vfma.f32 s{result + power}, s{result + power + 1}, s{value}")


def _portable(steps: float) -> str:
    """An infinite x times its piece's 0 would be NaN."""
    return f"""for (; count > 0; count--) {{
        const float value = *x++ * {steps}f;
        const float from = value - 0.5f;
        const float place = from < 0.0f ? from - 0.5f : from + 0.5f;
        const int32_t whole = place < {HALF - 1}.0f ? (place > -{HALF}.0f ? (int32_t)place : -{HALF}) : {HALF - 1};
        const float *c = pieces + {_COEFFICIENTS} * (whole + {HALF});
        const float cubic = ((c[3] * value + c[2]) * value + c[1]) * value + c[0];
        *y++ = value < -3.4028235e38f ? *pieces : value > 3.4028235e38f ? value : cubic;
    }}"""
