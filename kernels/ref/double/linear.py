# SPDX-License-Identifier: MIT
"""Convolutions and fully connected layers of int8 and int16 tensors under the contract `double`."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import BYTES_OR_HALFWORDS, CONSTANT_PARAMETERS, QUANTIZED, SYMMETRIC_WEIGHTS
from aidge_build.contract.kernel_kit.linear import LinearConstants, linear_constants
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.contracts import ONCE
from aidge_build.operators.arithmetic.ranges import INT32_LIMIT, largest_accumulators

from ..shared.linear_shape import linear_shape
from .linear_text import linear_text

INT64_LIMIT = 1 << 63
TYPES = ("FC", *(f"{kind}{rank}D" for kind in ("Conv", "ConvDepthWise") for rank in (1, 2, 3)))


def _spec(data: DType, weights: DType, bias: DType, *predicates: Predicate) -> ImplSpec:
    return ImplSpec(
        inputs=(IOSpec(data, SAME), IOSpec(weights, ANY), IOSpec(bias, ANY)),
        outputs=(IOSpec(data, SAME),),
        predicates=(CONSTANT_PARAMETERS, QUANTIZED, SYMMETRIC_WEIGHTS, *predicates),
        rounding="double",
    )


def _fits_shifted(view: NodeView) -> str:
    numbers = LinearDouble(view).numbers()
    shifts = numbers.multipliers[:, 1]
    left = numpy.where(shifts < ONCE, numpy.maximum(shifts, 0), 0)
    data = view.inputs[0]
    largest = largest_accumulators(numbers.weights, numbers.plain_bias, numbers.input_zero_point, *data.dtype.range)
    fits = (largest.astype(numpy.int64) << left) < INT32_LIMIT
    return "" if fits.all() else f"a sum shifted to the left by {int(left.max())} bits could leave int32"


FIT = Predicate("sums that int32 holds, also shifted to the left", _fits_shifted)


@kernel(TYPES, _spec(DType.int8, DType.any, DType.int32, BYTES_OR_HALFWORDS, FIT))
class LinearDouble(KernelNode):
    instructions_per_mac = 12
    in_int32 = True
    bias_type: type = numpy.int32

    def numbers(self) -> LinearConstants:
        """The constants of the layer; weights [outputs, taps]."""
        weights = self.inputs[1].data
        rows = weights.reshape(len(weights), -1)
        return linear_constants(self.operator, self.inputs, self.outputs[0], rows, in_int32=self.in_int32)

    def factors(self, numbers: LinearConstants) -> numpy.ndarray:
        """Two numbers for each output."""
        return numbers.multipliers

    def levels(self, numbers: LinearConstants) -> list[int]:
        """The zero point of the input; of the output the lowest and highest value, less its zero point, which follows."""
        point = numbers.zero_point
        return [numbers.input_zero_point, numbers.low - point, numbers.high - point, point]

    def call(self) -> Call:
        (data, weights, *_), (output,) = self.inputs, self.outputs
        numbers = self.numbers()
        factors = self.factors(numbers)
        name, text = linear_text(data.dtype, weights.dtype)
        return Call(
            name,
            ("double/linear.h",),
            (
                Input(0),
                Output(0),
                Constant("weights", weights.data),
                Constant("bias", numbers.plain_bias.astype(self.bias_type)),
                Constant("factors", factors if numbers.per_channel else factors[:1]),
                Constant("levels", numpy.array(self.levels(numbers), numpy.int32)),
                Literal(2 * int(numbers.per_channel)),
                linear_shape(self.operator, data, output),
            ),
            texts=(text,),
        )


def _leaves(view: NodeView) -> str:
    """Why a product or a level could be too large, or zero points are not 0."""
    if view.inputs[0].quantization.zero_point or view.outputs[0].quantization.zero_point:
        return "a zero point is not 0"
    layer = LinearHalfwords(view)
    numbers = layer.numbers()
    largest = largest_accumulators(numbers.weights, numbers.plain_bias, 0, *view.inputs[0].dtype.range)
    for sum_, (multiplier, right) in zip(largest.tolist(), layer.factors(numbers).tolist()):
        product = sum_ * multiplier + (1 << (right - 1))
        if product >= INT64_LIMIT or product >> right >= INT32_LIMIT:
            return f"a sum of {sum_} times its factor could leave int64 or, once shifted, int32"
    return ""


_WITHIN = Predicate("zero points 0, products within int64, levels within int32", _leaves)


@kernel(TYPES, _spec(DType.int16, DType.int8, DType.any, _WITHIN))
class LinearHalfwords(LinearDouble):
    """Sums of 64 bits times one factor, a multiplier and a shift to the right."""

    instructions_per_mac = 14
    in_int32 = False
    bias_type = numpy.int64

    def factors(self, numbers: LinearConstants) -> numpy.ndarray:
        multiplier, right = numbers.multipliers.astype(numpy.int64).T
        return numpy.stack([multiplier, numpy.where(right >= ONCE, right - ONCE, right)], axis=1).astype(numpy.int32)

    def levels(self, numbers: LinearConstants) -> list[int]:
        """The lowest and highest value."""
        return [numbers.low, numbers.high]
