# SPDX-License-Identifier: MIT
"""float32 LayerNormalization and RMSNormalization: three passes over a row, in the registers of the FPU."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.layer_norm_float32 import (
    OPERATORS,
    PARAMETERS,
    SCALED_PARAMETERS,
    LayerNormFloat32,
    scaled_name,
)
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..core.assembly import Routine
from ..core.float32 import FEATURES, in_turns, listed, values

NAME = "aidge_cortexm_layer_norm"
FLOAT = IOSpec(DType.float32, ROW_MAJOR)
SHORTEST = 8  # values of a row


def _others(view: NodeView) -> str:
    if len(view.outputs) > 1:
        return "mean or deviation are outputs, too"
    length = math.prod(view.inputs[0].dims[view.operator.axis :])
    parameters = [tensor for tensor in view.inputs[1:] if tensor is not None]
    if any(tensor.elements != length for tensor in parameters):
        return "scale or bias repeat within a row"
    return "" if length >= SHORTEST else f"rows of {length} values"


@kernel(
    OPERATORS, ImplSpec(FLOAT, features=FEATURES, predicates=(REAL, Predicate("one output, rows of several values", _others)))
)
class CortexmLayerNorm(LayerNormFloat32):
    assembly, prefix, source, together = "needed", NAME, "rows/layer_norm_float32.h", 8

    def texts(self, has_bias: bool) -> Sequence[str]:
        return _sums(False), _sums(True), _scaled(has_bias)


def _sums(of_squares: bool) -> str:
    """To statistics[1], of the values or of the squares of what they differ from statistics[0] by."""
    code = Routine()

    def add(count: int) -> None:
        numbers = values("value", count)
        code(f"vldmia %row!, {listed(numbers)}")
        for value in numbers if of_squares else ():
            code(f"vsub.f32 {value}, {value}, %s.mean")
        for value in numbers:
            code(f"vfma.f32 %s.sum, {value}, {value}" if of_squares else f"vadd.f32 %s.sum, %s.sum, {value}")

    code("%enter")
    code("movs %zero, #0")
    code("vmov %s.sum, %zero")
    code("vldr %s.mean, [%statistics]")
    in_turns(code, 8, add)
    code("vstr %s.sum, [%statistics, #4]")
    code("%leave")
    return code.function(
        f"{NAME}_{'squares' if of_squares else 'sum'}",
        PARAMETERS,
        "The sum of the squares of what values differ from the mean by." if of_squares else "The sum of values.",
    )


def _scaled(has_bias: bool) -> str:
    """(x - statistics[0]) * statistics[1] * scale + bias."""
    code = Routine()

    def scale(count: int) -> None:
        numbers, factors, results = (values(name, count) for name in ("value", "scale", "result"))
        code(f"vldmia %row!, {listed(numbers)}")
        for operation in ("vsub.f32 {0}, {0}, %s.mean", "vmul.f32 {0}, {0}, %s.factor"):
            for value in numbers:
                code(operation.format(value))
        code(f"vldmia %scale!, {listed(factors)}")
        if has_bias:
            code(f"vldmia %bias!, {listed(results)}")
        for result, value, factor in zip(results, numbers, factors):
            code(f"{'vfma' if has_bias else 'vmul'}.f32 {result}, {value}, {factor}")
        code(f"vstmia %output!, {listed(results)}")

    code("%enter")
    code("vldm %statistics, {%s.mean, %s.factor}")
    code("ldrd %scale, %bias, [%argument.4]" if has_bias else "ldr %scale, [%argument.4]")
    in_turns(code, 4, scale)
    code("%leave")
    return code.function(
        scaled_name(NAME, has_bias), SCALED_PARAMETERS, "Values less the mean, over the deviation, with scale and bias."
    )
