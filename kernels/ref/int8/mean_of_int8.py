# SPDX-License-Identifier: MIT
"""The mean of each channel of stored bytes where nobody quantizes it, as exporters of quantization-aware training write it."""

from __future__ import annotations

import math

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Struct
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.axes import counted_axes
from aidge_build.operators.pool import GlobalAveragePooling

LARGEST_MAP = 1 << 22  # positions, whose sums fit int32


def _unfit(view: NodeView) -> str:
    graph = view.operator.graph
    stored, mean = graph.nodes
    data, numbers, (result,) = view.inputs[0], graph.input_tensors(stored)[1:], view.outputs
    if any(not tensor.is_constant or tensor.elements != 1 for tensor in numbers) or result.quantization is not None:
        return "several scales, one of run time, or a quantized result"
    if data.rank < 3 or math.prod(data.dims[2:]) > LARGEST_MAP:
        return f"data of the dims {list(data.dims)}"
    operator = mean.operator
    if not isinstance(operator, GlobalAveragePooling) and counted_axes(operator.axes, data.rank) != tuple(range(2, data.rank)):
        return "a mean over other axes than those of a map"
    bounds = getattr(operator, "minimum", -math.inf), getattr(operator, "maximum", math.inf)
    return "" if bounds == (-math.inf, math.inf) else "a clamp"


@kernel(
    "MeanOfBytes",
    ImplSpec(
        (IOSpec(DType.int8, CHANNELS_LAST), IOSpec(DType.any, ANY)),
        (IOSpec(DType.float32, CHANNELS_LAST),),
        (Predicate("the mean of maps of one scale", _unfit),),
    ),
    "DequantizeLinear->(GlobalAveragePooling|ReduceMean)",
)
class MeanOfInt8(KernelNode):
    def call(self) -> Call:
        graph, data = self.operator.graph, self.inputs[0]
        _, scale, *points = graph.input_tensors(graph.nodes[0])
        pixels = math.prod(data.dims[2:])
        start = -pixels * sum(int(point.data.reshape(())) for point in points)
        factor = numpy.float32(float(scale.data.reshape(())) / pixels)
        return Call(
            "aidge_ref_mean_int8",
            ("int8/mean_of_int8.h",),
            (
                Input(0),
                Output(0),
                Constant("start", numpy.array([start], numpy.int32)),
                Constant("factor", numpy.array([factor], numpy.float32)),
                Struct("aidge_ref_maps", {"batches": data.dims[0], "pixels": pixels, "channels": data.dims[1]}),
            ),
        )
