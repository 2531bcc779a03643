# SPDX-License-Identifier: MIT
"""Element-wise operators of int16 tensors under the contract `double`, and values that change between int8 and int16."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED, STORED_BYTES_OR_HALFWORDS
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.activation import ReLU
from aidge_build.operators.arithmetic.requantize import clamp_levels
from aidge_build.operators.double.functions import leaky_factors, rescaling
from aidge_build.operators.double.products import product_factor
from aidge_build.operators.double.sums import sum_factors

from ..shared.each import Expression, each

SOURCES = ("double/elements.h",)
DIFFERENCE_BITS = 17  # of a stored value less its zero point
MOST_BITS = 30


def _bytes_alone(view: NodeView) -> str:
    return "" if any(tensor.dtype is DType.int16 for tensor in (*view.inputs, *view.outputs)) else "every tensor is int8"


def _far(factors: Sequence[tuple[int, int]], bits: int) -> str:
    shift = max(shift for _, shift in factors)
    return "" if shift + bits <= MOST_BITS else f"a value shifted to the left by {shift} bits could leave int32"


def _spec(reason, *further: Predicate) -> ImplSpec:
    side = (IOSpec(DType.any, SAME),)
    shifted = Predicate("values that int32 holds, also shifted to the left", reason)
    return ImplSpec(side, side, predicates=(STORED_BYTES_OR_HALFWORDS, ALL_QUANTIZED, *further, shifted), rounding="double")


HALFWORDS = Predicate("int16 on one side", _bytes_alone)


def _written(view: NodeView, level: str) -> str:
    """The C of a level less the zero point as a stored value; k[0] is the zero point of the output, k[1] and k[2] its bounds."""
    return f"({view.outputs[0].dtype.c_type})aidge_ref_between_double({level} + k[0], k[1], k[2])"


def _bounds(view: NodeView) -> tuple[int, int, int]:
    (output,), operator = view.outputs, view.operator
    low, high = output.dtype.range
    if isinstance(operator, ReLU):
        low, high = clamp_levels(0.0, float("inf"), output.quantization, output.dtype)
    elif hasattr(operator, "minimum"):
        low, high = clamp_levels(operator.minimum, operator.maximum, output.quantization, output.dtype)
    return output.quantization.zero_point, low, high


@kernel(
    ("ReLU", "Clip"),
    _spec(lambda view: _far([rescaling(view.operator, view.inputs, view.outputs)], DIFFERENCE_BITS), HALFWORDS),
)
class RescaledDouble(ElementWise):
    def call(self) -> Call:
        factor = rescaling(self.operator, self.inputs, self.outputs)
        numbers = (*_bounds(self.view), self.inputs[0].quantization.zero_point, *factor)
        value = _written(self.view, "aidge_kit_scale_fixed(a - k[3], k[4], k[5])")
        return each(Expression("rescale_double", value, (), (), SOURCES, numbers), self.inputs, (0,), self.outputs[0])


@kernel(
    ("Abs", "LeakyReLU"),
    _spec(lambda view: _far(leaky_factors(view.operator, view.inputs, view.outputs), DIFFERENCE_BITS), HALFWORDS),
)
class TwoFactorsDouble(ElementWise):
    """Values below zero have a factor of their own; those of Abs change their sign before."""

    def call(self) -> Call:
        above, below = leaky_factors(self.operator, self.inputs, self.outputs)
        numbers = (*_bounds(self.view), self.inputs[0].quantization.zero_point, *above, *below)
        is_abs = self.node.type == "Abs"
        steps = (
            "const int32_t x = a - k[3];",
            "const int32_t *f = x >= 0 ? k + 4 : k + 6;",
            "const int32_t y = x < 0 ? -x : x;" if is_abs else "const int32_t y = x;",
        )
        level = "y" if is_abs and same_numbers(self.view) else "aidge_kit_scale_fixed(y, f[0], f[1])"
        steps = (steps[0], steps[2]) if level == "y" else steps
        name = f"{self.node.type.lower()}_double" + ("_as_stored" if level == "y" else "")
        return each(Expression(name, _written(self.view, level), steps, (), SOURCES, numbers), self.inputs, (0,), self.outputs[0])


def same_numbers(view: NodeView) -> bool:
    """Whether stored values mean the same on both sides."""
    return view.inputs[0].quantization == view.outputs[0].quantization


@kernel("Neg", _spec(lambda view: "" if view.operator.stored else "it negates real numbers", HALFWORDS))
class NegatedDouble(ElementWise):
    """Stored values change their sign, whatever the zero point is."""

    def call(self) -> Call:
        value = f"({self.outputs[0].dtype.c_type})(-a)"
        return each(Expression("negate_double", value), self.inputs, (0,), self.outputs[0])


@kernel("Mul", _spec(lambda view: _far([product_factor(view.inputs, view.outputs[0])], MOST_BITS), HALFWORDS))
class ProductHalfwords(ElementWise):
    def call(self) -> Call:
        numbers = (*_bounds(self.view), *product_factor(self.inputs, self.outputs[0]))
        value = _written(self.view, "aidge_kit_scale_fixed(a * b, k[3], k[4])")
        return each(Expression("product_double", value, (), (), SOURCES, numbers), self.inputs, (0, 1), self.outputs[0])


def _sum_fits(view: NodeView) -> str:
    return _far([sum_factors(view.inputs, view.outputs[0]).total], MOST_BITS)


@kernel(("Add", "Sub"), _spec(_sum_fits, HALFWORDS))
class SumHalfwords(ElementWise):
    def call(self) -> Call:
        factors = sum_factors(self.inputs, self.outputs[0])
        numbers = (*_bounds(self.view), *factors.first, *factors.second, *factors.total)
        sign = "-" if self.node.type == "Sub" else "+"
        steps = (
            "const int32_t x = aidge_kit_scale_fixed(a * 32768, k[3], k[4]);",
            f"const int32_t y = aidge_kit_scale_fixed({'-' if sign == '-' else ''}b * 32768, k[5], k[6]);",
        )
        value = _written(self.view, "aidge_kit_scale_fixed(x + y, k[7], k[8])")
        found = Expression(f"{self.node.type.lower()}_double", value, steps, (), SOURCES, numbers)
        return each(found, self.inputs, (0, 1), self.outputs[0])
