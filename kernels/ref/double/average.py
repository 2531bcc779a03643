# SPDX-License-Identifier: MIT
"""Means of windows of int8 and int16 tensors under the contract `double`."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.average import ONE_SCALE
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED, SAME_QUANTIZATION, STORED_BYTES_OR_HALFWORDS
from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.pool import AvgPoolingHalvesUp


def _without_pads(view: NodeView) -> str:
    return "pads count" if getattr(view.operator, "counts_pads", False) else ""


@kernel(
    ("AvgPooling1D", "AvgPooling2D", "AvgPoolingHalvesUp2D", "GlobalAveragePooling"),
    ImplSpec(
        IOSpec(DType.any_1, CHANNELS_LAST),
        predicates=(STORED_BYTES_OR_HALFWORDS, ALL_QUANTIZED, ONE_SCALE, Predicate("pads do not count", _without_pads)),
        rounding="double",
    ),
)
class AverageDouble(PoolNode):
    HALVES_AWAY, HALVES_UP, LARGEST = range(3)

    def call(self) -> Call:
        levels = Constant("levels", numpy.array([*self.levels(), self._what()], numpy.int32))
        wide = Literal(int(self.inputs[0].dtype is DType.int16))
        return Call("aidge_ref_average_double", ("double/average.h",), (Input(0), Output(0), levels, wide, self.shape()))

    def _what(self) -> int:
        return self.HALVES_UP if isinstance(self.operator, AvgPoolingHalvesUp) else self.HALVES_AWAY


@kernel(
    ("MaxPooling1D", "MaxPooling2D", "GlobalMaxPooling"),
    ImplSpec(IOSpec(DType.int16, CHANNELS_LAST), predicates=(ALL_QUANTIZED, SAME_QUANTIZATION), rounding="any"),
)
class LargestHalfwords(AverageDouble):
    """Elements are handed on: the same under every contract."""

    def _what(self) -> int:
        return self.LARGEST
