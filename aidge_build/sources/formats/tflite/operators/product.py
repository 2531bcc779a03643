# SPDX-License-Identifier: MIT
"""Products of matrices, transposed convolutions, and rows of length one."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.operators.base import require
from aidge_build.operators.conv_transpose import ConvTranspose
from aidge_build.operators.matmul import MatMul
from aidge_build.operators.normalize import LpNormalization
from aidge_build.operators.view import Transpose
from aidge_build.operators.window import LARGEST
from aidge_build.sources.formats.tflite.file import Field
from aidge_build.sources.formats.tflite.linear import Form, activation, check_bias_scale, form_of, single_product, units_of
from aidge_build.sources.formats.tflite.node import TfliteNode
from aidge_build.sources.formats.tflite.order import Wants
from aidge_build.sources.formats.tflite.registry import reads
from aidge_build.sources.formats.tflite.windows import PADDING, same_pads


@reads("BATCH_MATMUL", wants=Wants.FILE, kind=101, adj_x=Field(0, "bool"), adj_y=Field(1, "bool"))
def batch_matmul(source: TfliteNode) -> None:
    """The product of matrices in the last two axes; either may be transposed before."""
    names = []
    for index, turned in enumerate((source.options["adj_x"], source.options["adj_y"])):
        value, name = source.input(index), source.read(index)
        if turned:
            require(value.rank >= 2, f"its input {index} has rank {value.rank}")
            order = (*range(value.rank - 2), value.rank - 1, value.rank - 2)
            name = source.step(Transpose(order), [name], value)
        names.append(name)
    source.write(MatMul(), names)


@reads(
    "TRANSPOSE_CONV",
    wants=Wants.CHANNELS,
    kind=49,
    padding=PADDING,
    stride_w=Field(1, "int32"),
    stride_h=Field(2, "int32"),
    fused_activation_function=Field(3, "int8"),
)
def transpose_conv(source: TfliteNode) -> None:
    """Inputs: dims of the output, weights [output channel, rows, columns, input channel], data, bias.

    If the file has integers, it is between DequantizeLinear and QuantizeLinear: recipes make convolutions of its phases.
    """
    weights, data = source.input(1), source.input(2)
    dims = source.integers(0) if source.input(0).is_constant or source.output().open_dims else source.output().dims
    require(len(dims) == weights.rank == data.rank == 4, f"its data has rank {data.rank}, its weights {weights.rank}, wants 4")
    strides = source.options["stride_h"], source.options["stride_w"]
    require(all(0 < number < LARGEST for number in strides), f"its strides are {list(strides)}")
    kernel, spatial = weights.dims[1:3], dims[1:3]
    require(all(0 < number < LARGEST for number in (*kernel, *spatial)), f"its kernel is {list(kernel)}, output {list(spatial)}")
    operator = ConvTranspose(
        kernel=kernel,
        strides=strides,
        dilations=(1, 1),
        pads_begin=same_pads(source, spatial, kernel, strides),
        spatial=spatial,
        single_product=single_product(source, data),
    )
    integers = form_of(data, weights, source.output()) is Form.INTEGERS
    inputs = [source.read_real(2), (source.constant_real if integers else source.read_real)(1, (3, 0, 1, 2))]
    if source.optional_input(3) is not None:
        whole = data.quantization is not None and weights.quantization is not None
        units = units_of(data.quantization, weights.quantization) if whole else None
        if units is not None:
            check_bias_scale(source, data, source.input(3), units)
        inputs.append(source.bias_real(3, units))
    sizes = zip(operator.pads_begin, spatial, strides, data.dims[1:3])
    splits = all(-(-(pad + size) // stride) >= given for pad, size, stride, given in sizes)
    source.write_real(replace(operator, **activation(source)), inputs, exact=integers and splits)


@reads("L2_NORMALIZATION", wants=Wants.SAME, kind=12, fused_activation_function=Field(0, "int8"))
def l2_normalization(source: TfliteNode) -> None:
    """x / |x| along the last axis."""
    require(source.options["fused_activation_function"] == 0, "a fused activation is not supported")
    source.refuse_unsigned()
    source.write_function(LpNormalization(axis=source.axis(-1, source.input(0).rank)))
