# SPDX-License-Identifier: MIT
"""float32 HardSigmoid and HardSwish, eight values at a time."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..core.assembly import Routine
from ..core.float32 import FEATURES, Limits, in_turns, listed, values

PARAMETERS = "const float *x, float *y, const float *line, int32_t count"
TOGETHER, GATES = 8, 4  # values; those of them whose gates are computed together
FLOAT = IOSpec(DType.float32, SAME)


@kernel(("HardSigmoid", "HardSwish"), ImplSpec(FLOAT, features=FEATURES, predicates=(REAL,)))
class HardFloat32(ElementWise):
    """A line of x between 0 and 1, or x times it."""

    assembly = "needed"

    def call(self) -> Call:
        is_factor = self.node.type == "HardSwish"
        line = (1 / 6, 0.5) if is_factor else (self.operator.alpha, self.operator.beta)
        name, text = routine(is_factor)
        constants = Constant("line", numpy.array([1.0, *line], numpy.float32))
        arguments = (Input(0), Output(0), constants, Literal(self.outputs[0].elements))
        return Call(name, ("core/target.h",), arguments, texts=(text,), facts=computed(f"{TOGETHER} values"))


def routine(is_factor: bool) -> tuple[str, str]:
    """Name and text: a line of x between 0 and 1, or x times it."""
    name, code = f"aidge_cortexm_hard_{'swish' if is_factor else 'sigmoid'}_float32", Routine()
    code("%enter")
    code("vldm %line, {%s.highest, %s.factor, %s.offset}")
    in_turns(code, TOGETHER, lambda count: _values(code, is_factor, count))
    code("%leave")
    return name, code.function(name, PARAMETERS, "May work in place.")


def _values(code: Routine, is_factor: bool, count: int) -> None:
    numbers = values("value", count)
    code(f"vldmia %x!, {listed(numbers)}")
    if not is_factor:
        for operation in ("vmul.f32 {0}, {0}, %s.factor", "vadd.f32 {0}, {0}, %s.offset"):
            for value in numbers:
                code(operation.format(value))
        limits = Limits(0.0, 1.0)
        limits.apply(code, numbers)
        limits.store(code, numbers, "%y")
        return
    for first in range(0, count, GATES):
        for operation in (
            "vmul.f32 {1}, {0}, %s.factor",
            "vadd.f32 {1}, {1}, %s.offset",
            "vcvt.u32.f32 {1}, {1}, #32",  # with 32 bits after the point all that is outside of 0 to 1 saturates
            "vcvt.f32.u32 {1}, {1}, #32",
            "vmul.f32 {0}, {0}, {1}",
        ):
            for value, gate in zip(numbers[first : first + GATES], values("gate", GATES)):
                code(operation.format(value, gate))
    code(f"vstmia %y!, {listed(numbers)}")
