# SPDX-License-Identifier: MIT
"""Sums, differences and products of two int16 tensors with zero point 0, in float32, as the nodes of the model say."""

from __future__ import annotations

from collections.abc import Iterable

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.requantize import clamp_levels

from .assembly import Routine
from .sums_int16 import Levels

OPERATIONS = ("Add", "Sub", "Mul")
_INSTRUCTIONS = ("vmla", "vmls", "vmul")
TURN = 8  # values
SMALLEST, LARGEST = 2.0**-100, 2.0**100  # of scales: 2^16 times as much is one, too
FRACTIONS = numpy.float32(1 << 16)  # of stored values as they are converted
PARAMETERS = "const int16_t *first, const int16_t *second, int16_t *output, const float *scales, int32_t count"


def _unfit(view: NodeView) -> str:
    tensors = (*view.inputs, *view.outputs)
    if any(tensor.quantization.zero_point for tensor in tensors):
        return "a zero point is not 0"
    if any(not SMALLEST < float(tensor.quantization.scale) < LARGEST for tensor in tensors):
        return f"a scale is not between {SMALLEST:g} and {LARGEST:g}"
    return "" if len({tensor.dims for tensor in tensors}) == 1 else "a term repeats"


def routine(operation: int, levels: Levels) -> tuple[str, str]:
    """Name and text; TURN values at a time, then one by one."""
    name = f"aidge_cortexm_{OPERATIONS[operation].lower()}_int16{levels.name}"
    code = Routine({})
    code("push {{r4-r9, lr}}")
    code("vldm r3, {{s12-s14}}", "scales, those of the terms 2^16 times as large")
    code("ldr r3, [sp, #28]", "count")
    levels.prepare(code)
    code(f"subs r3, r3, #{TURN}")
    code("blt 2f")
    code.label(1, f"{TURN} values")
    for _ in range(TURN // 4):
        _four(code, operation, levels)
    code(f"subs r3, r3, #{TURN}")
    code("bge 1b")
    code.label(2)
    code(f"adds r3, r3, #{TURN}")
    code("beq 4f")
    code.label(3, "one value")
    code("ldrsh r4, [r0], #2")
    code("ldrsh r5, [r1], #2")
    for place, register in ((0, "r4"), (4, "r5")):
        code(f"vmov s{place}, {register}")
        code(f"vcvt.f32.s32 s{place}, s{place}, #16")
    _values(code, operation, (0,))
    code("vmov r4, s0")
    levels.apply(code, "r4")
    code("strh r4, [r2], #2")
    code("subs r3, r3, #1")
    code("bne 3b")
    code.label(4)
    code("pop {{r4-r9, pc}}")
    portable = f"aidge_cortexm_binary_int16_c(first, second, output, scales, count, {operation}, {levels.low}, {levels.high});"
    return name, code.function(name, PARAMETERS, f"{OPERATIONS[operation]} of int16.", portable)


def _four(code: Routine, operation: int, levels: Levels) -> None:
    """4 values: of the first term in s0-s3, of the second in s4-s7, with 16 fraction bits, which a conversion takes from the low
    half of a register as from a word. Addresses need not be those of words."""
    for pointer, first in (("r0", 0), ("r1", 4)):
        code(f"ldr r4, [{pointer}], #4")
        code(f"ldr r6, [{pointer}], #4")
        code("asr r5, r4, #16")
        code("asr r7, r6, #16")
        code(f"vmov s{first}, s{first + 1}, r4, r5")
        code(f"vmov s{first + 2}, s{first + 3}, r6, r7")
    for place in range(8):
        code(f"vcvt.f32.s{32 if place % 2 else 16} s{place}, s{place}, #16")
    _values(code, operation, range(4))
    code("vmov r4, r5, s0, s1")
    code("vmov r6, r7, s2, s3")
    for register in ("r4", "r5", "r6", "r7"):
        levels.apply(code, register)
    for low, high in (("r4", "r5"), ("r6", "r7")):
        code(f"pkhbt {low}, {low}, {high}, lsl #16")
        code(f"str {low}, [r2], #4")


def _values(code: Routine, operation: int, values: Iterable[int]) -> None:
    """Levels in s0 on, of what stands there and in s4 on; a sum with a product is rounded twice, as two instructions would."""
    for value in values:
        code(f"vmul.f32 s{value}, s{value}, s12")
    if OPERATIONS[operation] == "Mul":
        for value in values:
            code(f"vmul.f32 s{value + 4}, s{value + 4}, s13")
    for value in values:
        operand = "" if OPERATIONS[operation] == "Mul" else ", s13"
        first = f"s{value}, s{value}" if OPERATIONS[operation] == "Mul" else f"s{value}"
        code(f"{_INSTRUCTIONS[operation]}.f32 {first}, s{value + 4}{operand}")
    for value in values:
        code(f"vdiv.f32 s{value}, s{value}, s14")
    for value in values:
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
        scales[:2] *= FRACTIONS
        arguments = (Input(0), Input(1), Output(0), Constant("scales", scales), Literal(output.elements))
        return Call(name, ("binary_int16.h",), arguments, texts=(text,), facts=computed(f"{TURN} values"))
