# SPDX-License-Identifier: MIT
"""MAX_POOL_2D and AVERAGE_POOL_2D."""

from __future__ import annotations

from aidge_build.graph.dtype import DType
from aidge_build.operators.base import require
from aidge_build.operators.pool import AvgPooling, AvgPoolingHalvesUp, MaxPooling, Pool
from aidge_build.sources.formats.tflite.file import Field
from aidge_build.sources.formats.tflite.linear import activation
from aidge_build.sources.formats.tflite.node import TfliteNode
from aidge_build.sources.formats.tflite.order import Wants
from aidge_build.sources.formats.tflite.registry import reads
from aidge_build.sources.formats.tflite.windows import PADDING, window_of

_OPTIONS = {
    "padding": PADDING,
    "stride_w": Field(1, "int32"),
    "stride_h": Field(2, "int32"),
    "filter_w": Field(3, "int32"),
    "filter_h": Field(4, "int32"),
    "fused_activation_function": Field(5, "int8"),
}


def _pool(source: TfliteNode, operator: type[Pool]) -> None:
    """Writes a pool on stored values: they have the same meaning before and after it."""
    data, options = source.input(0), source.options
    require(data.rank == 4, f"its input has rank {data.rank}, wants 4")
    kernel, strides = (options["filter_h"], options["filter_w"]), (options["stride_h"], options["stride_w"])
    window = window_of(source, data.dims[1:3], kernel, strides, (1, 1))
    source.move(operator(window=window, **activation(source)), [source.read(0)])


@reads("MAX_POOL_2D", wants=Wants.CHANNELS, kind=5, **_OPTIONS)
def max_pool_2d(source: TfliteNode) -> None:
    """Pads never win."""
    _pool(source, MaxPooling)


@reads("AVERAGE_POOL_2D", wants=Wants.CHANNELS, kind=5, **_OPTIONS)
def average_pool_2d(source: TfliteNode) -> None:
    """The mean of the elements inside the input: pads do not count."""
    unsigned = source.on_stored and source.input(0).dtype is DType.uint8
    _pool(source, AvgPoolingHalvesUp if unsigned else AvgPooling)
