# SPDX-License-Identifier: MIT
"""Sums, differences and products of two int16 tensors with zero point 0, in float32, as the nodes of the model say."""

from __future__ import annotations

import numpy

from aidge_build.arithmetic.requantize import clamp_levels
from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.conditions import ALL_QUANTIZED

from .assembly import Routine
from .sums_int16 import Levels

OPERATIONS = ("Add", "Sub", "Mul")
_INSTRUCTIONS = ("vadd", "vsub", "vmul")
PARAMETERS = "const int16_t *first, const int16_t *second, int16_t *output, const float *scales, int32_t count"


def _unfit(view: NodeView) -> str:
    tensors = (*view.inputs, *view.outputs)
    if any(tensor.quantization.zero_point for tensor in tensors):
        return "a zero point is not 0"
    return "" if len({tensor.dims for tensor in tensors}) == 1 else "a term repeats"


def routine(operation: int, levels: Levels) -> tuple[str, str]:
    """Name and text; two values at a time."""
    name = f"aidge_cortexm_{OPERATIONS[operation].lower()}_int16{levels.name}"
    code = Routine({})
    code("push {{r4-r7, lr}}")
    code("vldm r3, {{s8-s10}}", "scales")
    code("ldr r3, [sp, #20]", "count")
    levels.prepare(code)
    code("subs r3, r3, #2")
    code("blt 2f")
    code.label(1, "2 values")
    for pointer, low, high in (("r0", "r4", "r5"), ("r1", "r6", "r7")):
        code(f"ldr {high}, [{pointer}], #4")
        code(f"sxth {low}, {high}")
        code(f"asr {high}, {high}, #16")
    code("vmov s0, s1, r4, r5")
    code("vmov s2, s3, r6, r7")
    _values(code, operation, 2)
    code("vmov r4, r5, s0, s1")
    for register in ("r4", "r5"):
        levels.apply(code, register)
    code("pkhbt r4, r4, r5, lsl #16")
    code("str r4, [r2], #4")
    code("subs r3, r3, #2")
    code("bge 1b")
    code.label(2)
    code("adds r3, r3, #2")
    code("beq 3f")
    code("ldrsh r4, [r0]", "the last one alone")
    code("ldrsh r6, [r1]")
    code("vmov s0, r4")
    code("vmov s2, r6")
    _values(code, operation, 1)
    code("vmov r4, s0")
    levels.apply(code, "r4")
    code("strh r4, [r2]")
    code.label(3)
    code("pop {{r4-r7, pc}}")
    portable = f"aidge_cortexm_binary_int16_c(first, second, output, scales, count, {operation}, {levels.low}, {levels.high});"
    return name, code.function(name, PARAMETERS, f"{OPERATIONS[operation]} of int16.", portable)


def _values(code: Routine, operation: int, count: int) -> None:
    terms = [(value + 2 * term, 8 + term) for term in range(2) for value in range(count)]
    for term, _ in terms:
        code(f"vcvt.f32.s32 s{term}, s{term}")
    for term, scale in terms:
        code(f"vmul.f32 s{term}, s{term}, s{scale}")
    for value in range(count):
        code(f"{_INSTRUCTIONS[operation]}.f32 s{value}, s{value}, s{value + 2}")
    for value in range(count):
        code(f"vdiv.f32 s{value}, s{value}, s10")
    for value in range(count):
        code(f"vcvtr.s32.f32 s{value}, s{value}")


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
    def call(self) -> Call:
        operator, output = self.operator, self.outputs[0]
        low, high = clamp_levels(operator.minimum, operator.maximum, output.quantization, output.dtype)
        name, text = routine(OPERATIONS.index(self.node.type), Levels(low, high, 0))
        scales = numpy.array([tensor.quantization.scale for tensor in (*self.inputs, output)], numpy.float32)
        arguments = (Input(0), Input(1), Output(0), Constant("scales", scales), Literal(output.elements))
        return Call(name, ("binary_int16.h",), arguments, texts=(text,), facts=computed("2 values"))
