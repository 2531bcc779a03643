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

from .assembly import Routine
from .float32 import FEATURES, Limits, in_turns, span

PARAMETERS = "const float *x, float *y, const float *line, int32_t count"
TOGETHER, GATES = 8, 4  # values; those of them whose gates are computed together
HIGHEST = 13  # the register of 1, before those of the line
FACTOR, OFFSET = "s14", "s15"
FLOAT = IOSpec(DType.float32, SAME)
SPEC = ImplSpec((FLOAT,), (FLOAT,), features=FEATURES, predicates=(REAL,))


class _Hard(ElementWise):
    def layer(self, line: tuple[float, float], is_factor: bool) -> Call:
        """The call of a layer; the line is the factor of x, and what is added."""
        name, text = routine(is_factor)
        constants = Constant("line", numpy.array([1.0, *line], numpy.float32))
        arguments = (Input(0), Output(0), constants, Literal(self.outputs[0].elements))
        return Call(name, ("float32.h",), arguments, texts=(text,), facts=computed(f"{TOGETHER} values"))


@kernel("HardSigmoid", SPEC)
class HardSigmoidFloat32(_Hard):
    def call(self) -> Call:
        return self.layer((self.operator.alpha, self.operator.beta), is_factor=False)


@kernel("HardSwish", SPEC)
class HardSwishFloat32(_Hard):
    def call(self) -> Call:
        return self.layer((1 / 6, 0.5), is_factor=True)


def routine(is_factor: bool) -> tuple[str, str]:
    """Name and text: a line of x between 0 and 1, or x times it."""
    name, code = f"aidge_cortexm_hard_{'swish' if is_factor else 'sigmoid'}_float32", Routine({})
    code(f"vldm r2, {span(HIGHEST, 3)}", "highest, factor, offset")
    in_turns(code, TOGETHER, lambda count: _values(code, is_factor, count))
    code("bx lr")
    return name, code.function(name, PARAMETERS, "May work in place.", _portable(is_factor))


def _values(code: Routine, is_factor: bool, count: int) -> None:
    code(f"vldmia r0!, {span(0, count)}")
    if not is_factor:
        for operation in (f"vmul.f32 s{{0}}, s{{0}}, {FACTOR}", f"vadd.f32 s{{0}}, s{{0}}, {OFFSET}"):
            for value in range(count):
                code(operation.format(value))
        limits = Limits(0.0, 1.0)
        limits.apply(code, range(count), lowest=HIGHEST - 1)
        limits.store(code, range(count), "r1", ("r2", "r12"))
        return
    for first in range(0, count, GATES):
        values = range(first, min(first + GATES, count))
        for operation in (
            f"vmul.f32 s{{1}}, s{{0}}, {FACTOR}",
            f"vadd.f32 s{{1}}, s{{1}}, {OFFSET}",
            "vcvt.u32.f32 s{1}, s{1}, #32",  # with 32 bits after the point all that is outside of 0 to 1 saturates
            "vcvt.f32.u32 s{1}, s{1}, #32",
            "vmul.f32 s{0}, s{0}, s{1}",
        ):
            for value in values:
                code(operation.format(value, TOGETHER + value - first))
    code(f"vstmia r1!, {span(0, count)}")


def _portable(is_factor: bool) -> str:
    return f"""for (; count > 0; count--) {{
        const float value = *x++;
        const float gate = value * line[1] + line[2];
        const float raised = gate < 0.0f ? 0.0f : gate;
        const float limited = raised > line[0] ? line[0] : raised;
        *y++ = {"value * limited" if is_factor else "limited"};
    }}"""
