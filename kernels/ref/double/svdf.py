# SPDX-License-Identifier: MIT
"""Layers that filter features over time, int8 with a state of int16, under the contract `double`."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ANY, ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.ranges import INT32_LIMIT, largest_accumulators
from aidge_build.operators.double.recurrent import svdf_factors

from ..shared.svdf import CONSTANT_WEIGHTS, SvdfNode


def _unmeant(view: NodeView) -> str:
    data, features, times, _, state = view.inputs
    if any(tensor.quantization is None or not tensor.quantization.per_tensor for tensor in (data, features, times, state)):
        return "a tensor has no quantization, or several scales"
    if features.quantization.zero_point or times.quantization.zero_point or state.quantization.zero_point:
        return "weights or state have a zero point other than 0"
    zeros = numpy.zeros(len(features.data), numpy.int32)
    largest = int(largest_accumulators(features.data, zeros, data.quantization.zero_point, *data.dtype.range).max())
    (_, first), (_, second) = svdf_factors(view.inputs, view.outputs)
    if largest << max(first, 0) >= INT32_LIMIT or second > 0:
        return f"a sum, shifted to the left by {max(first, second)} bits, could leave int32"
    return ""


@kernel(
    "Svdf",
    ImplSpec(
        inputs=(
            IOSpec(DType.int8, ROW_MAJOR),
            IOSpec(DType.int8, ANY),
            IOSpec(DType.int16, ANY),
            IOSpec(DType.int32, ANY),
            IOSpec(DType.int16, ROW_MAJOR),
        ),
        outputs=(IOSpec(DType.int16, ROW_MAJOR), IOSpec(DType.int8, ROW_MAJOR)),
        predicates=(CONSTANT_WEIGHTS, Predicate("features that int32 holds, also shifted to the left", _unmeant)),
        rounding="double",
    ),
)
class SvdfDouble(SvdfNode):
    instructions_per_mac = 8

    def call(self) -> Call:
        products, sums = svdf_factors(self.inputs, self.outputs)
        numbers = [self.inputs[0].quantization.zero_point, *products, *sums, self.outputs[1].quantization.zero_point]
        constant = Constant("numbers", numpy.array(numbers, numpy.int32))
        return self.of_filters("aidge_ref_svdf_double", "double/svdf.h", constant, numpy.int32)
