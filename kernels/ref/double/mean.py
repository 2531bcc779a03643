# SPDX-License-Identifier: MIT
"""ReduceMean of int8 and int16 tensors under the contract `double`, over any axes."""

from __future__ import annotations

import math

import numpy

from aidge_build.arithmetic.fixed_sums import fixed_mean
from aidge_build.arithmetic.ranges import INT32_LIMIT
from aidge_build.contract.call import Call, Constant, Input, Literal, Output, Struct
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.conditions import ALL_QUANTIZED, STORED_BYTES_OR_HALFWORDS

from ..any.reduce import merged_shape


def _factor(view: NodeView) -> tuple[int, tuple[int, int]]:
    """How many elements a mean has, and the factor of their sum."""
    (data,), (output,) = view.inputs, view.outputs
    count = math.prod(data.dims[axis] for axis in view.operator.axes)
    return count, fixed_mean(data.quantization.scale, output.quantization.scale, count)


def _fits_shifted(view: NodeView) -> str:
    count, (_, shift) = _factor(view)
    low, high = view.inputs[0].dtype.range
    fits = (count * (high - low)) << max(shift, 0) < INT32_LIMIT - (high - low)
    return "" if fits else f"a sum shifted to the left by {shift} bits could leave int32"


def _places(view: NodeView) -> list[tuple[bool, int, int]]:
    """(reduced, size, step in the input) of each axis: those that stay in the output's storage order, slowest first."""
    (data,), (output,), operator = view.inputs, view.outputs, view.operator
    steps = data.layout.strides
    stay = range(data.rank) if operator.keep else [axis for axis in range(data.rank) if axis not in operator.axes]
    kept = [stay[axis] for axis in output.storage.order if stay[axis] not in operator.axes]
    reduced = sorted(operator.axes, key=lambda axis: -steps[axis])
    return [
        *((False, data.dims[axis], steps[axis]) for axis in kept),
        *((True, data.dims[axis], steps[axis]) for axis in reduced),
    ]


_SIDE = (IOSpec(DType.any_1, SAME),)
_PREDICATES = (
    STORED_BYTES_OR_HALFWORDS,
    ALL_QUANTIZED,
    Predicate("sums that int32 holds, also shifted to the left", _fits_shifted),
)


@kernel("ReduceMean", ImplSpec(_SIDE, _SIDE, predicates=_PREDICATES, rounding="double"))
class MeanDouble(KernelNode):
    def call(self) -> Call:
        (data,), (output,) = self.inputs, self.outputs
        count, factor = _factor(self.view)
        made = output.quantization.zero_point, *output.dtype.range
        numbers = numpy.array([data.quantization.zero_point * count, *factor, *made], numpy.int32)
        return Call(
            "aidge_ref_mean_double",
            ("double/mean.h",),
            (
                Input(0),
                Output(0),
                Constant("numbers", numbers),
                Literal(int(data.dtype is DType.int16)),
                Struct("aidge_ref_reduce_shape", merged_shape(_places(self.view))),
            ),
        )
