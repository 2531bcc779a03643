# SPDX-License-Identifier: MIT
"""ReduceMean of int8 tensors under the contract `double`, over axes that lie next to each other."""

from __future__ import annotations

import math

import numpy

from aidge_build.arithmetic.fixed_sums import fixed_mean
from aidge_build.arithmetic.ranges import INT32_LIMIT
from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.conditions import ALL_QUANTIZED

MOST_DIFFERENCE = 255  # of a stored value and its zero point


def _places(view: NodeView) -> list[int]:
    """Where the reduced axes lie in the storage order."""
    tensor = view.inputs[0]
    return sorted(tensor.storage.position(axis) for axis in view.operator.axes)


def _neighbours(view: NodeView) -> str:
    places = _places(view)
    apart = any(second - first > 1 for first, second in zip(places, places[1:]))
    kept = view.outputs[0].rank == view.inputs[0].rank
    if apart or not places or not (kept or view.outputs[0].rank <= 2):
        return "the axes do not lie next to each other"
    return ""


def _fits_shifted(view: NodeView) -> str:
    (data,), (output,) = view.inputs, view.outputs
    length = math.prod(data.dims[axis] for axis in view.operator.axes)
    shift = fixed_mean(data.quantization.scale, output.quantization.scale, length)[1]
    fits = (MOST_DIFFERENCE * length) << max(shift, 0) < INT32_LIMIT - MOST_DIFFERENCE
    return "" if fits else f"a sum shifted to the left by {shift} bits could leave int32"


FITS = Predicate("sums that int32 holds, also shifted to the left", _fits_shifted)


@kernel(
    "ReduceMean",
    ImplSpec(
        inputs=(IOSpec(DType.int8, SAME),),
        outputs=(IOSpec(DType.int8, SAME),),
        predicates=(ALL_QUANTIZED, Predicate("axes next to each other", _neighbours), FITS),
        rounding="double",
    ),
)
class MeanDouble(KernelNode):
    def call(self) -> Call:
        (data,), (output,) = self.inputs, self.outputs
        places, dims = _places(self.view), data.layout.stored_dims
        outer, length, inner = (
            math.prod(part) for part in (dims[: places[0]], dims[places[0] : places[-1] + 1], dims[places[-1] + 1 :])
        )
        factor = fixed_mean(data.quantization.scale, output.quantization.scale, length)
        numbers = [data.quantization.zero_point * length, *factor, output.quantization.zero_point]
        return Call(
            "aidge_ref_mean_double_int8",
            ("double/mean.h",),
            (Input(0), Output(0), Constant("numbers", numpy.array(numbers, numpy.int32)), *map(Literal, (outer, length, inner))),
        )
