# SPDX-License-Identifier: MIT
"""int16 maxima, two channels at a time."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Output
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED, SAME_QUANTIZATION
from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, Demands, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..core.conditions import FEATURES


def _unfit(view: NodeView) -> str:
    if PoolNode(view).levels() != DType.int16.range:
        return "the result is clamped"
    return "" if view.inputs[0].dims[1] > 1 else "a single channel"


@kernel(
    ("MaxPooling1D", "MaxPooling2D", "GlobalMaxPooling"),
    ImplSpec(
        IOSpec(DType.int16, CHANNELS_LAST),
        features=FEATURES,
        predicates=(ALL_QUANTIZED, SAME_QUANTIZATION, Predicate("no clamp, several channels", _unfit)),
    ),
)
class MaxPool2dInt16(PoolNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands()  # an odd last channel is read twice: nothing may be overwritten

    def call(self) -> Call:
        arguments = (Input(0), Output(0), self.shape())
        return Call("aidge_cortexm_maxpool2d_int16", ("windows/maxpool2d_int16.h",), arguments)
