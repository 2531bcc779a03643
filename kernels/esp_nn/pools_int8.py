# SPDX-License-Identifier: MIT
"""int8 pools over one or two axes, and over the whole map."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from aidge_build.contract.call import Call, Input, Output
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED, SAME_QUANTIZATION
from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from .layer import both_contracts, of_checkout, words
from .linear_int8 import LARGEST_SIZE


def _window_unfit(view: NodeView) -> str:
    shape = PoolNode(view).shape().fields
    if {shape["dilation_height"], shape["dilation_width"]} != {1}:
        return "the window is dilated"
    largest = max(shape.values())
    return "" if largest <= LARGEST_SIZE else f"a size of {largest}, wants at most {LARGEST_SIZE}"


def _counts_pads(view: NodeView) -> str:
    return "pads count" if getattr(view.operator, "counts_pads", False) else ""


WINDOW = Predicate("no dilation, sizes of 15 bits", _window_unfit)
SPEC = ImplSpec(IOSpec(DType.int8, CHANNELS_LAST), predicates=(ALL_QUANTIZED, SAME_QUANTIZATION, WINDOW))
MEAN = replace(SPEC, predicates=(*SPEC.predicates, Predicate("pads do not count", _counts_pads)))


class EspPool(PoolNode):
    """A pool that writes pixel by pixel."""

    glue: ClassVar[str]

    def call(self) -> Call:
        arguments = Input(0), Output(0), words("levels", self.levels()), self.shape()
        return of_checkout(self, self.glue, (f"esp_nn_{self.glue}_ansi",), arguments)


@kernel(("AvgPooling1D", "AvgPooling2D", "GlobalAveragePooling"), both_contracts(MEAN))
class AvgPoolInt8(EspPool):
    glue = "avg_pool_s8"


@kernel(("MaxPooling1D", "MaxPooling2D", "GlobalMaxPooling"), replace(SPEC, rounding="any"))
class MaxPoolInt8(EspPool):
    glue = "max_pool_s8"
