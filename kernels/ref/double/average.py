# SPDX-License-Identifier: MIT
"""Means of windows of int8 tensors under the contract `double`."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.average import ONE_SCALE
from aidge_build.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.kernel_kit.pooling import PoolNode


def _without_pads(view: NodeView) -> str:
    return "pads count" if getattr(view.operator, "count_include_pad", False) else ""


@kernel(
    ("AvgPooling1D", "AvgPooling2D", "GlobalAveragePooling"),
    ImplSpec(
        inputs=(IOSpec(DType.int8, CHANNELS_LAST),),
        outputs=(IOSpec(DType.int8, CHANNELS_LAST),),
        predicates=(ALL_QUANTIZED, ONE_SCALE, Predicate("pads do not count", _without_pads)),
        rounding="double",
    ),
)
class AverageDouble(PoolNode):
    def call(self) -> Call:
        levels = Constant("levels", numpy.array(self.levels(), numpy.int32))
        return Call("aidge_ref_average_double_int8", ("double/average.h",), (Input(0), Output(0), levels, self.shape()))
