# SPDX-License-Identifier: MIT
"""CONV_2D and DEPTHWISE_CONV_2D."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.operators.base import require
from aidge_build.operators.conv import Conv, is_depthwise
from aidge_build.operators.view import Reshape
from aidge_build.sources.formats.tflite.file import Field
from aidge_build.sources.formats.tflite.linear import (
    Form,
    activation,
    adds_halfwords,
    form_of,
    parameters,
    read_data,
    single_product,
    write_layer,
)
from aidge_build.sources.formats.tflite.node import TfliteNode
from aidge_build.sources.formats.tflite.order import Wants, channels_first, file_order
from aidge_build.sources.formats.tflite.registry import reads
from aidge_build.sources.formats.tflite.windows import PADDING, window_of

_STRIDES = {"padding": PADDING, "stride_w": Field(1, "int32"), "stride_h": Field(2, "int32")}


def _image(source: TfliteNode) -> tuple[int, ...]:
    """The dims of the data, with the axis that rows lack (`Spread.axis`)."""
    dims, weights = source.input(0).dims, source.input(1)
    if _rows(source):
        dims = (*dims[: source.spread.axis], 1, *dims[source.spread.axis :])
    require(len(dims) == weights.rank == 4, f"its input has rank {len(dims)}, its weights {weights.rank}, wants 4")
    return dims


def _rows(source: TfliteNode) -> bool:
    return source.spread is not None and source.spread.axis is not None


def _convolution(source: TfliteNode, channel_axis: int, order: tuple[int, ...], groups: int) -> None:
    """Writes a convolution. `order` moves the axes of the weights to [output channel, input channel, rows, columns]."""
    dims, options = _image(source), source.options
    data, weights = source.input(0), source.constant(1)
    strides, dilations = (options["stride_h"], options["stride_w"]), (options["dilation_h"], options["dilation_w"])
    weights = weights.transpose(order)
    window = window_of(source, dims[1:3], weights.shape[2:], strides, dilations)
    if source.spread is not None:
        spread = source.spread
        window = replace(window, dilations=spread.dilations, pads_begin=spread.pads_begin, pads_end=spread.pads_end)
    depthwise = is_depthwise(groups, dims[3], weights.shape[0])
    operator = Conv(
        window=window, groups=groups, depthwise=depthwise, single_product=single_product(source, data), **activation(source)
    )
    form = form_of(data, source.input(1), source.output(), adds_halfwords(source, weights))
    given, read = parameters(source, form, weights, channel_axis), read_data(source, form)
    if not _rows(source):
        write_layer(source, form, operator, [read, *given])
        return
    widened, made = (data, source.output()) if form is Form.INTEGERS else (None, None)
    image = source.in_order(source.step(Reshape(dims), [read], widened), file_order(4), channels_first(4))
    result = source.in_order(source.step(operator, [image, *given], made), channels_first(4), file_order(4))
    sizes = (dims[0], *window.output_dims(dims[1:3]), len(weights))
    write_layer(source, form, Reshape(tuple(size for axis, size in enumerate(sizes) if axis != source.spread.axis)), [result])


@reads(
    "CONV_2D",
    wants=Wants.CHANNELS,
    kind=1,
    **_STRIDES,
    fused_activation_function=Field(3, "int8"),
    dilation_w=Field(4, "int32", 1),
    dilation_h=Field(5, "int32", 1),
)
def conv_2d(source: TfliteNode) -> None:
    """Weights [output channel, rows, columns, input channel]; fewer input channels than the data has mean groups."""
    channels, each = _image(source)[3], source.input(1).dims[3]
    require(each > 0 and channels % each == 0, f"{channels} channels do not divide into groups of {each}")
    _convolution(source, 0, (0, 3, 1, 2), channels // each)


@reads(
    "DEPTHWISE_CONV_2D",
    wants=Wants.CHANNELS,
    kind=2,
    **_STRIDES,
    fused_activation_function=Field(4, "int8"),
    dilation_w=Field(5, "int32", 1),
    dilation_h=Field(6, "int32", 1),
)
def depthwise_conv_2d(source: TfliteNode) -> None:
    """Weights [1, rows, columns, input channel * multiplier]: the multiplier follows from the dims."""
    dims, weights = _image(source), source.input(1)
    require(weights.dims[0] == 1, f"its weights have the dims {list(weights.dims)}, wants 1 first")
    require(dims[3] > 0 and weights.dims[3] % dims[3] == 0, f"{weights.dims[3]} filters for {dims[3]} channels")
    _convolution(source, 3, (3, 0, 1, 2), dims[3])
