# SPDX-License-Identifier: MIT
"""QuantizeLinear from float32 to bytes and int16 under the contract `double`: halves go away from zero."""

from __future__ import annotations

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ANY, SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..shared.channels import LinearConversion
from ..shared.each import Expression, each

TYPES = (DType.int8, DType.uint8, DType.int16)
_FAR = 65536  # a level that every type saturates, whatever the zero point is


def _unmeant(view: NodeView) -> str:
    if view.outputs[0].dtype not in TYPES:
        return f"the output is {view.outputs[0].dtype.name}, wants {', '.join(one.name for one in TYPES)}"
    return "" if view.inputs[1].elements == 1 else "there are several scales, wants one"


@kernel(
    "QuantizeLinear",
    ImplSpec(
        inputs=(IOSpec(DType.float32, SAME), IOSpec(DType.float32, ANY), IOSpec(DType.any, ANY)),
        outputs=(IOSpec(DType.any, SAME),),
        predicates=(CONSTANT_PARAMETERS, Predicate("to bytes or int16 by one scale", _unmeant)),
        rounding="double",
    ),
)
class QuantizeDouble(LinearConversion):
    def call(self) -> Call:
        (output,), stated = self.outputs, self.quantization()
        steps = (
            "volatile float q = a / p[0]; /* volatile: a wider intermediate would not round here */",
            "const float m = q < 0.0f ? -q : q > 0.0f ? q : 0.0f;",
            f"const int32_t t = m < {_FAR}.0f ? (int32_t)m : {_FAR};",
            "const int32_t y = t + (m - (float)t >= 0.5f ? 1 : 0);",
        )
        value = f"({output.dtype.c_type})aidge_ref_between_double((q < 0.0f ? -y : y) + k[0], k[1], k[2])"
        numbers = stated.zero_point, *output.dtype.range
        found = Expression(
            "quantize_double", value, steps, (float(stated.scale),), ("double/elements.h", "shared/float_model.h"), numbers
        )
        return each(found, self.inputs[:1], (0,), output)
