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

from .assembly import Routine
from .float32 import in_turns, values
from .sums_int16 import Levels

OPERATIONS = ("Add", "Sub", "Mul")
_INSTRUCTIONS = ("vmla", "vmls", "vmul")
TURN = 8  # values
ENDS, POINTERS, TERMS = ("%lowest", "%highest"), ("%first", "%second"), "ab"
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
    code = Routine()

    def some(count: int) -> None:
        if count == 1:
            _one(code, operation, levels)
        for _ in range(count // 4):
            _four(code, operation, levels)

    code("%enter")
    code("vldm %scales, {%s.scale_a, %s.scale_b, %s.scale}", "scales, those of the terms 2^16 times as large")
    code("ldr %count, [%argument.4]")
    levels.prepare(code, ENDS)
    in_turns(code, TURN, some)
    code("%leave")
    portable = f"aidge_cortexm_binary_int16_c(first, second, output, scales, count, {operation}, {levels.low}, {levels.high});"
    return name, code.function(name, PARAMETERS, f"{OPERATIONS[operation]} of int16.", portable)


def _one(code: Routine, operation: int, levels: Levels) -> None:
    for pointer, name in zip(POINTERS, TERMS):
        code(f"ldrsh %word, [{pointer}], #2")
        code(f"vmov %s.{name}0, %word")
        code(f"vcvt.f32.s32 %s.{name}0, %s.{name}0, #16")
    _values(code, operation, 1)
    code("vmov %word, %s.a0")
    levels.apply(code, "%word", ENDS)
    code("strh %word, [%output], #2")


def _four(code: Routine, operation: int, levels: Levels) -> None:
    """4 values of each term, with 16 fraction bits, which a conversion takes from the low half of a register as from a word.
    Addresses need not be those of words."""
    words = [f"%word{place}" for place in range(4)]
    for pointer, name in zip(POINTERS, TERMS):
        terms = values(name, 4)
        code(f"ldr {words[0]}, [{pointer}], #4")
        code(f"ldr {words[2]}, [{pointer}], #4")
        code(f"asr {words[1]}, {words[0]}, #16")
        code(f"asr {words[3]}, {words[2]}, #16")
        for first in (0, 2):
            code(f"vmov {terms[first]}, {terms[first + 1]}, {words[first]}, {words[first + 1]}")
    for name in TERMS:
        for place, term in enumerate(values(name, 4)):
            code(f"vcvt.f32.s{32 if place % 2 else 16} {term}, {term}, #16")
    _values(code, operation, 4)
    results = values("a", 4)
    for first in (0, 2):
        code(f"vmov {words[first]}, {words[first + 1]}, {results[first]}, {results[first + 1]}")
    for word in words:
        levels.apply(code, word, ENDS)
    for low, high in (words[:2], words[2:]):
        code(f"pkhbt {low}, {low}, {high}, lsl #16")
        code(f"str {low}, [%output], #4")


def _values(code: Routine, operation: int, count: int) -> None:
    """Levels in place of the first term; a sum with a product is rounded twice, as two instructions would."""
    terms, others = (values(name, count) for name in TERMS)
    is_product = OPERATIONS[operation] == "Mul"
    for term in terms:
        code(f"vmul.f32 {term}, {term}, %s.scale_a")
    for other in others if is_product else ():
        code(f"vmul.f32 {other}, {other}, %s.scale_b")
    for term, other in zip(terms, others):
        operands = f"{term}, {other}" if is_product else f"{other}, %s.scale_b"
        code(f"{_INSTRUCTIONS[operation]}.f32 {term}, {operands}")
    for term in terms:
        code(f"vdiv.f32 {term}, {term}, %s.scale")
    for term in terms:
        code(f"vcvtr.s32.f32 {term}, {term}")


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
