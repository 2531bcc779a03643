# SPDX-License-Identifier: MIT
"""int8 means: AvgPooling over one or two axes, and over the whole map."""

from __future__ import annotations

from collections.abc import Callable

import numpy

from aidge_build.arithmetic.fixed_point import Rescale, equal_over_range, exact_ratio, proved_rescale
from aidge_build.arithmetic.requantize import clamp_levels, quantize
from aidge_build.backend.spec import CHANNELS_LAST, ImplSpec, IOSpec
from aidge_build.export.call import Call, Constant, Input, Literal, Output
from aidge_build.export.node import kernel
from aidge_build.graph.dtype import DType

from .conditions import ALL_QUANTIZED
from .pooling import PoolNode
from .rescaling import rescale_constant


@kernel(("AvgPooling1D", "AvgPooling2D", "GlobalAveragePooling"),
        ImplSpec(inputs=(IOSpec(DType.int8, CHANNELS_LAST),), outputs=(IOSpec(DType.int8, CHANNELS_LAST),),
                 predicates=(ALL_QUANTIZED,)))
class AvgPool2dInt8(PoolNode):
    def call(self) -> Call:
        counts = self.counts()
        data, result = self.inputs[0].quantization, self.outputs[0].quantization
        low, high = clamp_levels(self.operator.minimum, self.operator.maximum, result, DType.int8)
        levels = numpy.array([low, high, result.zero_point, data.zero_point], numpy.int32)
        return Call("aidge_ref_avgpool2d_int8", ("avgpool2d_int8.h",),
                    (Input(0), Output(0), rescale_constant([self._rescale(count, low, high) for count in counts]),
                     Constant("counts", numpy.array(counts, numpy.int32)), Constant("levels", levels), Literal(len(counts)),
                     *self.counted_ends(), self.shape()), note="integers proved equal for every possible sum")

    def _rescale(self, count: int, low: int, high: int) -> Rescale:
        """The rescaling of a sum over `count` positions, proved equal to the operator's meaning."""
        data, result = self.inputs[0].quantization, self.outputs[0].quantization
        smallest, largest = (count * (level - data.zero_point) for level in DType.int8.range)

        def exact(sums: numpy.ndarray) -> numpy.ndarray:
            means = sums.astype(numpy.float64) * numpy.float64(data.scale) / count
            return quantize(self.operator.clamp(means), result, DType.int8).astype(numpy.int64)

        def levels_of(candidate: Rescale) -> Callable[[numpy.ndarray], numpy.ndarray]:
            return lambda sums: numpy.clip(candidate.apply(sums) + result.zero_point, low, high)

        return proved_rescale(exact_ratio(data.scale, count, result.scale), max(abs(smallest), abs(largest)),
                              lambda candidate: equal_over_range(exact, levels_of(candidate), smallest, largest),
                              f"the mean of {count} values")
