# SPDX-License-Identifier: MIT
"""float32 Gelu, Swish and Elu: a cubic for each of 256 pieces of the line, eight values at a time."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import Any

import numpy

from aidge_build.contract.call import Call, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.curves import HAS_CURVE, TIMES_CURVES, ElementCurve
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.kernel_kit.float_steps import FPU
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..core.assembly import Routine
from ..core.float32 import FEATURES, in_turns, listed, values

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
    limit = ELU_LIMIT if operator.type == "Elu" else ElementCurve.of(operator).limit
    return float(2.0 ** math.floor(math.log2(1.14 * HALF / limit)))


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


@kernel(TIMES_CURVES, ImplSpec(FLOAT, features=FEATURES, predicates=(WORTHWHILE, REAL, HAS_CURVE, WIDTH)))
class Pieces(KernelNode):
    assembly = "needed"

    def call(self) -> Call:
        """The pieces depend on no weight: they stand once in the code, whatever the number of layers."""
        steps = _steps_of(self.operator)
        coefficients = pieces_of(self.operator, steps)
        own = f"{NAME}_{zlib.crc32(coefficients.tobytes()):08x}"
        texts = (pieces_text(steps), _own_text(own, coefficients, _routine_name(steps)))
        arguments = (Input(0), Output(0), Literal(self.outputs[0].elements))
        facts, operations = computed("8 values"), PieceSteps(coefficients, steps)
        return Call(own, ("core/target.h",), arguments, texts=texts, facts=facts, steps=operations)


@kernel("Elu", ImplSpec(FLOAT, features=FEATURES, predicates=(WORTHWHILE, REAL)))
class PiecesOfElu(Pieces, ElementWise):
    pass


def pieces_of(operator: Any, steps: float) -> numpy.ndarray:
    """The coefficients of each piece in powers of steps * x, the constant first, float32.

    Piece HALF + n is where steps * x is from n to n + 1. The first one is the limit far below 0, the last one is x. The pieces
    next to 0 have no constant, so that results near 0 are as exact as elsewhere. Elu may bend at 0: its pieces above 0 are x.
    """
    rows = numpy.zeros((2 * HALF, _COEFFICIENTS), numpy.float32)
    nodes = (numpy.cos((numpy.arange(_POINTS) + 0.5) * math.pi / _POINTS) + 1) / 2
    for row in range(1, 2 * HALF - 1):
        place = row - HALF + nodes
        rows[row] = numpy.polynomial.Polynomial.fit(place, operator.forward(place / steps), _COEFFICIENTS - 1).convert().coef
    for row in (HALF - 1, HALF):
        rows[row] = _through_0(operator, steps, row - HALF + nodes)
    rows[-1] = (0, 1 / steps, 0, 0)
    if operator.type == "Elu":
        rows[0, 0] = operator.forward(numpy.array(-math.inf))
        rows[HALF:] = rows[-1]
    return rows


def _through_0(operator: Any, steps: float, places: numpy.ndarray) -> tuple[float, ...]:
    """The coefficients of a piece next to 0; Elu is as exact as numbers near 0 are."""
    slopes = operator.forward(places / steps) / places
    weights = numpy.ones_like(places) if operator.type == "Elu" else numpy.abs(places)
    return (0, *numpy.polynomial.Polynomial.fit(places, slopes, _COEFFICIENTS - 2, w=weights).convert().coef)


@dataclass(frozen=True, eq=False)
class PieceSteps:
    """The operations of the layer (`Call.steps`)."""

    coefficients: numpy.ndarray
    steps: float

    def forward(self, data: numpy.ndarray) -> tuple[numpy.ndarray, ...]:
        """Returns the result."""
        places = data * numpy.float32(self.steps)
        number = numpy.clip(numpy.rint(numpy.nan_to_num(places) - numpy.float32(0.5)), -HALF, HALF - 1).astype(numpy.int32)
        *lower, result = self.coefficients[number + HALF].reshape(*data.shape, _COEFFICIENTS).T
        for coefficient in reversed(lower):
            result = FPU.multiply_add(result, places.T, coefficient)
        result = numpy.where(data == -math.inf, self.coefficients[0, 0], result.T)
        return (numpy.where(numpy.isnan(data) | (data == math.inf), data, result),)


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
    code = Routine()

    def compute(count: int) -> None:
        if count == 1:
            _value(code, "")
            return
        words = [f"%word{index}" for index in range(count)]
        code(f"ldm %x, {listed(words)}")
        code(f"cmp %infinity, {words[0]}, lsl #1")
        for group in (words[1:5], words[5:]):
            code(f"i{'t' * len(group)} hi")
            for word in group:
                code(f"cmphi %infinity, {word}, lsl #1")
        code("bls %one_by_one", "one is infinite or NaN")
        code(f"vldmia %x!, {listed(values('value', count))}")
        _cubics(code, count)
        code(f"vstmia %y!, {listed(values('result', count))}")
        code.label("stored")

    code("%enter")
    code(f"add %pieces, %pieces, #{HALF * _COEFFICIENTS * 4}", "the piece of 0")
    code.constant("%infinity", _INFINITY)
    code(f"vmov.f32 %s.steps, #{steps}")
    code("vmov.f32 %s.half, #0.5")
    in_turns(code, _TOGETHER, compute)
    code("%leave")
    code.label("one_by_one")
    code(f"movs %left, #{_TOGETHER}")
    code.label("next")
    _value(code, "_of_several")
    code("subs %left, %left, #1")
    code("bne %next")
    code("b %stored")
    return code.function(
        _routine_name(steps),
        "const float *x, float *y, const float *pieces, int32_t count",
        "y = a cubic of x, one for each piece. May work in place.",
    )


def _value(code: Routine, which: str) -> None:
    """One value, maybe an infinite one; `which` ends the names of the labels."""
    code("ldr %word0, [%x]")
    code("vldmia %x!, {%s.value0}")
    code("cmp %infinity, %word0, lsl #1")
    code(f"bne %finite{which}")
    code("vmov.f32 %s.result0, %s.value0", "itself, or what the first piece holds")
    code("cmp %word0, #0")
    code(f"bge %found{which}")
    code(f"sub %first, %pieces, #{HALF * _COEFFICIENTS * 4}")
    code("vldr %s.result0, [%first]")
    code(f"b %found{which}")
    code.label(f"finite{which}")
    _cubics(code, 1)
    code.label(f"found{which}")
    code("vstmia %y!, {%s.result0}")


def _cubics(code: Routine, count: int) -> None:
    """The cubics of value0, value1, ... in result0, result1, ..., registers that follow each other."""
    numbers, results = values("value", count), values("result", count + _COEFFICIENTS - 1)
    words = [f"%word{index}" for index in range(count)]
    for number in numbers:
        code(f"vmul.f32 {number}, {number}, %s.steps")
    for number, result in zip(numbers, results):
        code(f"vsub.f32 {result}, {number}, %s.half")
        code(f"vcvtr.s32.f32 {result}, {result}")
    for first in range(0, count, 2):
        code(f"vmov {', '.join((*words[first : first + 2], *results[first : min(first + 2, count)]))}")
    for word in words:
        code(f"ssat {word}, #{HALF.bit_length()}, {word}")
        code(f"add {word}, %pieces, {word}, lsl #4")
    for place, (word, number) in enumerate(zip(words, numbers)):
        coefficients = results[place : place + _COEFFICIENTS]
        code(f"vldm {word}, {listed(coefficients)}")
        for lower, higher in zip(coefficients[-2::-1], coefficients[:0:-1]):
            code(f"vfma.f32 {lower}, {higher}, {number}")
