# SPDX-License-Identifier: MIT
"""float32 batch normalization that no recipe could fuse: four neighbouring channels, or four values of a channel at a time."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS, REAL
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ANY, SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from .assembly import Routine
from .float32 import FEATURES, Limits, span

TOGETHER = 4
PARAMETERS = (
    "const float *x, float *y, const float *numbers, const float *limits, int32_t blocks, int32_t channels, int32_t inner"
)
_SAVED_BYTES = 36
FLOAT = IOSpec(DType.float32, SAME)


@kernel(
    "BatchNormalization",
    ImplSpec((FLOAT, IOSpec(DType.float32, ANY)), (FLOAT,), features=FEATURES, predicates=(REAL, CONSTANT_PARAMETERS)),
)
class BatchNormFloat32(ElementWise):
    def call(self) -> Call:
        scale, bias, mean, variance = (tensor.data.astype(numpy.float64) for tensor in self.inputs[1:])
        numbers = numpy.concatenate([mean, scale / numpy.sqrt(variance + self.operator.epsilon), bias])
        clamp = self.operator.minimum, self.operator.maximum
        (output,) = self.outputs
        channels, inner = (output.dims[1], output.layout.strides[1]) if output.rank > 1 else (1, output.elements)
        name, text = routine(inner == 1, Limits(*clamp))
        return Call(
            name,
            ("batchnorm_float32.h",),
            (
                Input(0),
                Output(0),
                Constant("numbers", numbers.astype(numpy.float32)),
                Constant("limits", numpy.array(clamp, numpy.float32)),
                Literal(output.elements // (channels * inner)),
                Literal(channels),
                Literal(inner),
            ),
            texts=(text,),
            facts=computed(f"{TOGETHER} values"),
        )


def routine(are_neighbours: bool, limits: Limits) -> tuple[str, str]:
    """Name and text of all blocks of channels: `are_neighbours`, or each has values side by side."""
    name = f"aidge_cortexm_batchnorm_{'pixels' if are_neighbours else 'planes'}{limits.suffix}_float32"
    code = Routine({})
    code("push {{r4-r11, lr}}")
    limits.load(code, "r3")
    code(f"ldr r4, [sp, #{_SAVED_BYTES}]", "blocks")
    code(f"ldr r5, [sp, #{_SAVED_BYTES + 4}]", "channels")
    code(f"ldr r11, [sp, #{_SAVED_BYTES + 8}]", "values of a channel")
    code("lsl r10, r5, #2", "from means to factors, from factors to biases")
    code.label(1, "a block")
    code("mov r6, r2")
    code("add r7, r6, r10")
    code("add r8, r7, r10")
    if are_neighbours:
        code("mov r9, r5")
    else:
        code("mov r12, r5")
        code.label(2, "a channel")
        for pointer, register in ((6, 4), (7, 5), (8, 6)):
            code(f"vldmia r{pointer}!, {span(register, 1)}")
        code("mov r9, r11")
    code(f"subs r9, r9, #{TOGETHER}")
    code("blt 4f")
    code.label(3, f"{TOGETHER} values")
    _values(code, are_neighbours, limits, TOGETHER)
    code(f"subs r9, r9, #{TOGETHER}")
    code("bge 3b")
    code.label(4)
    code(f"adds r9, r9, #{TOGETHER}")
    code("beq 6f")
    code.label(5, "a value")
    _values(code, are_neighbours, limits, 1)
    code("subs r9, r9, #1")
    code("bne 5b")
    code.label(6)
    if not are_neighbours:
        code("subs r12, r12, #1")
        code("bne 2b")
    code("subs r4, r4, #1")
    code("bne 1b")
    code("pop {{r4-r11, pc}}")
    inner = "1" if are_neighbours else "inner"
    portable = f"aidge_cortexm_batchnorm_float32(x, y, numbers, limits, blocks, channels, {inner});"
    return name, code.function(name, PARAMETERS, "Batch normalization. May work in place.", portable)


def _values(code: Routine, are_neighbours: bool, limits: Limits, count: int) -> None:
    """From r0 to r1 by way of s8 and on; the parameters of one channel are in s4-s6, of neighbours at r6, r7 and r8."""
    results = range(8, 8 + count)
    if are_neighbours:
        code(f"vldmia r0!, {span(12, count)}")
        code(f"vldmia r6!, {span(4, count)}")
        for value in range(count):
            code(f"vsub.f32 s{12 + value}, s{12 + value}, s{4 + value}")
        code(f"vldmia r7!, {span(4, count)}")
        code(f"vldmia r8!, {span(8, count)}")
        for value in range(count):
            code(f"vfma.f32 s{8 + value}, s{12 + value}, s{4 + value}")
    else:
        code(f"vldmia r0!, {span(8, count)}")
        for operation in ("vsub.f32 s{0}, s{0}, s4", "vmul.f32 s{0}, s{0}, s5", "vadd.f32 s{0}, s{0}, s6"):
            for result in results:
                code(operation.format(result))
    limits.apply(code, results)
    limits.store(code, results, "r1", ("r3", "lr"))
