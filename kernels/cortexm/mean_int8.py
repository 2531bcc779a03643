# SPDX-License-Identifier: MIT
"""int8 means over the whole map."""

from __future__ import annotations

import math

import numpy

from aidge_build.arithmetic.means import proved_mean
from aidge_build.arithmetic.requantize import clamp_levels
from aidge_build.contract.call import Call, Constant, Input, Output, Struct, computed
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from .pools import A_WORD_OF_CHANNELS


def _unquantized(view: NodeView) -> str:
    tensors = (view.inputs[0], view.outputs[0])
    return (
        ""
        if all(tensor.quantization and tensor.quantization.per_tensor for tensor in tensors)
        else "no quantization, or several scales"
    )


def _partial(view: NodeView) -> str:
    """A window as large as the map, once, without pads."""
    window, spatial = getattr(view.operator, "window", None), view.inputs[0].dims[2:]
    if window is None or (window.kernel == spatial and not window.has_pads and set(view.outputs[0].dims[2:]) == {1}):
        return ""
    return f"the window is {'x'.join(map(str, window.kernel))}, wants the whole map"


@kernel(
    ("AvgPooling1D", "AvgPooling2D", "GlobalAveragePooling"),
    ImplSpec(
        inputs=(IOSpec(DType.int8, CHANNELS_LAST),),
        outputs=(IOSpec(DType.int8, CHANNELS_LAST),),
        features=frozenset({"dsp"}),
        predicates=(
            Predicate("one scale each", _unquantized),
            A_WORD_OF_CHANNELS,
            Predicate("the mean of the whole map", _partial),
        ),
    ),
)
class MeanInt8(KernelNode):
    def call(self) -> Call:
        data, output = self.inputs[0], self.outputs[0]
        pixels = math.prod(data.dims[2:])
        low, high = clamp_levels(self.operator.minimum, self.operator.maximum, output.quantization, DType.int8)
        rescale = proved_mean(pixels, data.quantization, output.quantization, (low, high))
        levels = [low, high, output.quantization.zero_point, pixels * data.quantization.zero_point]
        shape = Struct("aidge_cortexm_mean", {"batches": data.dims[0], "pixels": pixels, "channels": data.dims[1]})
        return Call(
            "aidge_cortexm_mean_int8",
            ("mean_int8.h",),
            (
                Input(0),
                Output(0),
                Constant("rescale", numpy.array([rescale.multiplier, rescale.shift, rescale.divisor], numpy.int64)),
                Constant("levels", numpy.array(levels, numpy.int32)),
                shape,
            ),
            note="integers proved equal for every possible sum",
            facts=computed("4 channels", 1),
        )
