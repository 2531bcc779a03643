# SPDX-License-Identifier: MIT
"""int8 means: AvgPooling over one or two axes, and over the whole map."""

from __future__ import annotations

import numpy

from aidge_build.arithmetic.means import proved_mean
from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.kernel_kit.pooling import PoolNode

from .rescaling import rescale_constant


@kernel(
    ("AvgPooling1D", "AvgPooling2D", "GlobalAveragePooling"),
    ImplSpec(
        inputs=(IOSpec(DType.int8, CHANNELS_LAST),), outputs=(IOSpec(DType.int8, CHANNELS_LAST),), predicates=(ALL_QUANTIZED,)
    ),
)
class AvgPool2dInt8(PoolNode):
    def call(self) -> Call:
        counts = self.counts()
        data, result = self.inputs[0].quantization, self.outputs[0].quantization
        low, high = self.levels()
        levels = numpy.array([low, high, result.zero_point, data.zero_point], numpy.int32)
        rescales = [proved_mean(count, data, result, (low, high)) for count in counts]
        return Call(
            "aidge_ref_avgpool2d_int8",
            ("int8/avgpool2d_int8.h",),
            (
                Input(0),
                Output(0),
                rescale_constant(rescales),
                Constant("counts", numpy.array(counts, numpy.int32)),
                Constant("levels", levels),
                Literal(len(counts)),
                *self.counted_ends(),
                self.shape(),
            ),
            note="integers proved equal for every possible sum",
        )
