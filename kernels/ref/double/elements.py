# SPDX-License-Identifier: MIT
"""PReLU of int8 tensors under the contract `double`."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.binary_int8 import BINARY_INT8
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.operators.double.functions import prelu_factors

from ..shared.each import Expression, each

SOURCES = ("double/elements.h",)
_VALUE_BITS, _PRODUCT_BITS = 8, 16  # of a stored value less its zero point, and of two of them


def _fits_shifted(view: NodeView) -> str:
    above, below = prelu_factors(view.inputs, view.outputs[0])
    fits = above[1] + _VALUE_BITS <= 30 and below[1] + _PRODUCT_BITS <= 30
    return "" if fits else f"a value shifted to the left by {max(above[1], below[1])} bits could leave int32"


SPEC = replace(
    BINARY_INT8,
    predicates=(*BINARY_INT8.predicates, Predicate("values that int32 holds, also shifted to the left", _fits_shifted)),
    rounding="double",
)


@kernel("PReLU", SPEC)
class PReLUDouble(ElementWise):
    def call(self) -> Call:
        (output,) = self.outputs
        points = [tensor.quantization.zero_point for tensor in (*self.inputs, output)]
        above, below = prelu_factors(self.inputs, output)
        steps = (
            "const int32_t x = a - k[0];",
            "const int32_t *f = x >= 0 ? k + 3 : k + 5;",
            "const int32_t y = aidge_kit_scale_fixed(x >= 0 ? x : x * (b - k[1]), f[0], f[1]);",
        )
        value = "(int8_t)aidge_ref_between_double(y + k[2], -128, 127)"
        found = Expression("prelu_double", value, steps, (), SOURCES, (*points, *above, *below))
        return each(found, self.inputs, (0, 1), output)
