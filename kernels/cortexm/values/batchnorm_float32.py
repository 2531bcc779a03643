# SPDX-License-Identifier: MIT
"""float32 batch normalization that no recipe could fuse: four neighbouring channels, or four values of a channel at a time."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS, REAL
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.kernel_kit.linear_float32 import limits
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ANY, SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..core.assembly import Routine
from ..core.float32 import FEATURES, Limits, in_turns, listed, values

TOGETHER = 4
PARTS = ("mean", "factor", "bias")  # of the numbers of a channel
PARAMETERS = (
    "const float *x, float *y, const float *numbers, const float *limits, int32_t blocks, int32_t channels, int32_t inner"
)
FLOAT = IOSpec(DType.float32, SAME)


@kernel(
    "BatchNormalization",
    ImplSpec((FLOAT, IOSpec(DType.float32, ANY)), (FLOAT,), features=FEATURES, predicates=(REAL, CONSTANT_PARAMETERS)),
)
class BatchNormFloat32(ElementWise):
    assembly = "needed"

    def call(self) -> Call:
        scale, bias, mean, variance = (tensor.data.astype(numpy.float64) for tensor in self.inputs[1:])
        numbers = numpy.concatenate([mean, scale / numpy.sqrt(variance + self.operator.epsilon), bias])
        (output,) = self.outputs
        channels, inner = (output.dims[1], output.layout.strides[1]) if output.rank > 1 else (1, output.elements)
        name, text = routine(inner == 1, Limits(self.operator.minimum, self.operator.maximum))
        return Call(
            name,
            ("core/target.h",),
            (
                Input(0),
                Output(0),
                Constant("numbers", numbers.astype(numpy.float32)),
                limits(self.operator),
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
    code = Routine()
    code("%enter")
    limits.load(code, "%limits")
    code("ldr %blocks, [%argument.4]")
    code("ldr %channels, [%argument.5]")
    if not are_neighbours:
        code("ldr %inner, [%argument.6]", "values of a channel")
    code("lsl %step, %channels, #2", "from means to factors, from factors to biases")
    code.label("block", "a block")
    code("mov %mean, %numbers")
    code("add %factor, %mean, %step")
    code("add %bias, %factor, %step")
    if are_neighbours:
        code("mov %count, %channels")
    else:
        code("mov %left, %channels")
        code.label("channel", "a channel")
        for pointer in PARTS:
            code(f"vldmia %{pointer}!, {{%s.{pointer}}}")
        code("mov %count, %inner")
    in_turns(code, TOGETHER, lambda count: _values(code, are_neighbours, limits, count))
    if not are_neighbours:
        code("subs %left, %left, #1")
        code("bne %channel")
    code("subs %blocks, %blocks, #1")
    code("bne %block")
    code("%leave")
    return name, code.function(name, PARAMETERS, "Batch normalization. May work in place.")


def _values(code: Routine, are_neighbours: bool, limits: Limits, count: int) -> None:
    results = values("result", count)
    if are_neighbours:
        numbers, means, factors = (values(name, count) for name in ("value", "mean", "factor"))
        code(f"vldmia %x!, {listed(numbers)}")
        code(f"vldmia %mean!, {listed(means)}")
        for value, mean in zip(numbers, means):
            code(f"vsub.f32 {value}, {value}, {mean}")
        code(f"vldmia %factor!, {listed(factors)}")
        code(f"vldmia %bias!, {listed(results)}")
        for result, value, factor in zip(results, numbers, factors):
            code(f"vfma.f32 {result}, {value}, {factor}")
    else:
        code(f"vldmia %x!, {listed(results)}")
        for operation, parameter in zip(("vsub", "vmul", "vadd"), PARTS):
            for result in results:
                code(f"{operation}.f32 {result}, {result}, %s.{parameter}")
    limits.apply(code, results)
    limits.store(code, results, "%y")
