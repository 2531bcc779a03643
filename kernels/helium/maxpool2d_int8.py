# SPDX-License-Identifier: MIT
"""int8 maxima: MaxPooling over one or two axes, and over the whole map."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, Scratch, computed
from aidge_build.contract.kernel_kit.conditions import SAME_QUANTIZATION
from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView

from .lines import line_elements
from .pooling import pool_spec


@kernel(("MaxPooling1D", "MaxPooling2D"), pool_spec(SAME_QUANTIZATION))
class MaxPool2dInt8(PoolNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return replace(super().demands(view), scratch_bytes=line_elements(cls(view)))

    def call(self) -> Call:
        return Call(
            "aidge_helium_maxpool2d",
            ("maxpool2d.h",),
            (Input(0), Output(0), Scratch(), _levels(self), self.shape()),
            "columns, then neighbours of a line",
            facts=computed("16 values"),
        )


@kernel("GlobalMaxPooling", pool_spec(SAME_QUANTIZATION))
class MaxOfMapInt8(PoolNode):
    def call(self) -> Call:
        batches, channels, *spatial = self.inputs[0].dims
        return Call(
            "aidge_helium_max_of_map",
            ("max_of_map.h",),
            (Input(0), Output(0), _levels(self), *map(Literal, (batches, math.prod(spatial), channels))),
            "16 channels in lanes",
            facts=computed("16 channels"),
        )


def _levels(node: PoolNode) -> Constant:
    return Constant("levels", numpy.array(node.levels(), numpy.int8))
