# SPDX-License-Identifier: MIT
"""Sums, differences and products of two int16 tensors with zero point 0, in float32, as the nodes of the model say."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.requantize import clamp_levels

from ..core.assembly import Routine
from ..core.float32 import in_turns, values
from ..sums.sums_int16 import Levels

OPERATIONS = ("Add", "Sub", "Mul")
_INSTRUCTIONS = ("vmla", "vmls", "vmul")
TURN = 4  # values
SMALLEST, LARGEST = 2.0**-100, 2.0**100  # of scales
PARAMETERS = "const int16_t *first, const int16_t *second, int16_t *output, const float *scales, int32_t count"


def _unfit(view: NodeView) -> str:
    tensors = (*view.inputs, *view.outputs)
    if any(tensor.quantization.zero_point for tensor in tensors):
        return "a zero point is not 0"
    if any(not SMALLEST < float(tensor.quantization.scale) < LARGEST for tensor in tensors):
        return f"a scale is not between {SMALLEST:g} and {LARGEST:g}"
    return "" if len({tensor.dims for tensor in tensors}) == 1 else "a term repeats"


def routine(operation: int, levels: Levels) -> tuple[str, str]:
    """Name and text; TURN values at a time, a product with a sum is rounded twice, as two instructions would."""
    name = f"aidge_cortexm_{OPERATIONS[operation].lower()}_int16{levels.name}"
    code = Routine()
    code("%enter")
    code("vldm %scales, {%s.scale_a, %s.scale_b, %s.scale}")
    code("ldr %count, [%argument.4]")
    levels.prepare(code)
    in_turns(code, TURN, lambda count: _values(code, operation, count, levels))
    code("%leave")
    return name, code.function(name, PARAMETERS, f"{OPERATIONS[operation]} of int16.")


def _values(code: Routine, operation: int, count: int, levels: Levels) -> None:
    terms, others = values("a", count), values("b", count)
    words = [f"%word{place}" for place in range(count)]
    for pointer, numbers in (("first", terms), ("second", others)):
        for word, number in zip(words, numbers):
            code(f"ldrsh {word}, [%{pointer}], #2")
            code(f"vmov {number}, {word}")
        for number in numbers:
            code(f"vcvt.f32.s32 {number}, {number}")
    is_product = OPERATIONS[operation] == "Mul"
    scaled = [(term, "%s.scale_a") for term in terms] + [(other, "%s.scale_b") for other in others if is_product]
    for number, scale in scaled:
        code(f"vmul.f32 {number}, {number}, {scale}")
    for term, other in zip(terms, others):
        operands = f"{term}, {other}" if is_product else f"{other}, %s.scale_b"
        code(f"{_INSTRUCTIONS[operation]}.f32 {term}, {operands}")
    for step in ("vdiv.f32 {0}, {0}, %s.scale", "vcvtr.s32.f32 {0}, {0}"):
        for term in terms:
            code(step.format(term))
    for word, term in zip(words, terms):
        code(f"vmov {word}, {term}")
        levels.apply(code, word)
        code(f"strh {word}, [%output], #2")


@kernel(
    OPERATIONS,
    ImplSpec(
        inputs=(IOSpec(DType.int16, SAME), IOSpec(DType.int16, SAME)),
        outputs=(IOSpec(DType.int16, SAME),),
        features=frozenset({"dsp", "fpu"}),
        predicates=(ALL_QUANTIZED, Predicate("zero point 0, the same dims", _unfit)),
    ),
)
class BinaryInt16(KernelNode):
    assembly = "needed"

    def call(self) -> Call:
        operator, output = self.operator, self.outputs[0]
        low, high = clamp_levels(operator.minimum, operator.maximum, output.quantization, output.dtype)
        name, text = routine(OPERATIONS.index(self.node.type), Levels(low, high, 0))
        scales = numpy.array([tensor.quantization.scale for tensor in (*self.inputs, output)], numpy.float32)
        arguments = (Input(0), Input(1), Output(0), Constant("scales", scales), Literal(output.elements))
        return Call(name, ("core/target.h",), arguments, texts=(text,), facts=computed(f"{TURN} values"))
