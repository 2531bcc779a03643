# SPDX-License-Identifier: MIT
"""Element-wise operators under the contract `double`: sums and products of int8 and int16, others where a side is int16."""

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
from aidge_build.operators.double.functions import leaky_factors, prelu_factors, rescaling
from aidge_build.operators.double.products import product_factor
from aidge_build.operators.double.sums import sum_factors

from ..shared.each import Expression, each

SOURCES = ("double/elements.h",)
DIFFERENCE_BITS = 17  # of a stored value less its zero point
MOST_BITS = 30
BITS_OF_BYTE, BITS_OF_BYTE_PRODUCT = 8, 16  # of a stored value less its zero point, and of two
BITS_OF_BYTE_SUM = 29  # of both addends


def _far(factors: Sequence[tuple[int, int]], bits: int) -> str:
    shift = max(shift for _, shift in factors)
    return "" if shift + bits <= MOST_BITS else f"a value shifted to the left by {shift} bits could leave int32"


def _spec(reason, *further: Predicate) -> ImplSpec:
    side = IOSpec(DType.any, SAME)
    shifted = Predicate("values that int32 holds, also shifted to the left", reason)
    return ImplSpec(side, predicates=(STORED_BYTES_OR_HALFWORDS, ALL_QUANTIZED, *further, shifted), rounding="double")


def _are_bytes(view: NodeView) -> bool:
    return all(tensor.dtype is DType.int8 for tensor in (*view.inputs, *view.outputs))


HALFWORDS = Predicate("int16 on one side", lambda view: "every tensor is int8" if _are_bytes(view) else "")
BYTES = Predicate("int8", lambda view: "" if _are_bytes(view) else "a tensor is int16")


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
    ("ReLU", "Clip"), _spec(lambda view: _far([rescaling(view.operator, view.inputs, view.outputs)], DIFFERENCE_BITS), HALFWORDS)
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


def _elements(view: NodeView, first: int) -> tuple[str, str, tuple[int, ...]]:
    """The C of both elements less their zero points, which are k[first] and the next; those of int16 are 0."""
    if not _are_bytes(view):
        return "a", "b", ()
    return f"(a - k[{first}])", f"(b - k[{first + 1}])", tuple(tensor.quantization.zero_point for tensor in view.inputs)


def _product_fits(view: NodeView) -> str:
    return _far([product_factor(view.inputs, view.outputs[0])], BITS_OF_BYTE_PRODUCT if _are_bytes(view) else MOST_BITS)


@kernel("Mul", _spec(_product_fits))
class ProductDouble(ElementWise):
    def call(self) -> Call:
        a, b, points = _elements(self.view, 5)
        numbers = (*_bounds(self.view), *product_factor(self.inputs, self.outputs[0]), *points)
        value = _written(self.view, f"aidge_kit_scale_fixed({a} * {b}, k[3], k[4])")
        return each(Expression("product_double", value, (), (), SOURCES, numbers), self.inputs, (0, 1), self.outputs[0])


def _sum_fits(view: NodeView) -> str:
    return _far([sum_factors(view.inputs, view.outputs[0]).total], BITS_OF_BYTE_SUM if _are_bytes(view) else MOST_BITS)


@kernel(("Add", "Sub"), _spec(_sum_fits))
class SumDouble(ElementWise):
    def call(self) -> Call:
        factors, (a, b, points) = sum_factors(self.inputs, self.outputs[0]), _elements(self.view, 9)
        numbers = (*_bounds(self.view), *factors.first, *factors.second, *factors.total, *points)
        sign = "-" if self.node.type == "Sub" else ""
        steps = (
            f"const int32_t x = aidge_kit_scale_fixed({a} * {1 << factors.left}, k[3], k[4]);",
            f"const int32_t y = aidge_kit_scale_fixed({sign}{b} * {1 << factors.left}, k[5], k[6]);",
        )
        value = _written(self.view, "aidge_kit_scale_fixed(x + y, k[7], k[8])")
        found = Expression(f"{self.node.type.lower()}_double", value, steps, (), SOURCES, numbers)
        return each(found, self.inputs, (0, 1), self.outputs[0])


def _factors_fit(view: NodeView) -> str:
    above, below = prelu_factors(view.inputs, view.outputs[0])
    return _far([above], BITS_OF_BYTE) or _far([below], BITS_OF_BYTE_PRODUCT)


@kernel("PReLU", _spec(_factors_fit, BYTES))
class PReLUDouble(ElementWise):
    def call(self) -> Call:
        above, below = prelu_factors(self.inputs, self.outputs[0])
        numbers = (*_bounds(self.view), *above, *below, *(tensor.quantization.zero_point for tensor in self.inputs))
        steps = (
            "const int32_t x = a - k[7];",
            "const int32_t *f = x >= 0 ? k + 3 : k + 5;",
            "const int32_t y = aidge_kit_scale_fixed(x >= 0 ? x : x * (b - k[8]), f[0], f[1]);",
        )
        found = Expression("prelu_double", _written(self.view, "y"), steps, (), SOURCES, numbers)
        return each(found, self.inputs, (0, 1), self.outputs[0])
