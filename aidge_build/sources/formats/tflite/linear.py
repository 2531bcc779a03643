# SPDX-License-Identifier: MIT
"""Layers that are linear in data and weights, with a bias and a fused clamp: which form they take in the graph.

This is the one place that decides about it. `Form.INTEGERS` is the operator on quantized tensors, with exact sums: under
`rounding=onnx` they are requantized as docs/arithmetic.md says. Scales, zero points and the clamp stay as the file has them, so
that another contract finds everything that it needs on the tensors and the operator.
"""

from __future__ import annotations

import enum
from dataclasses import replace
from typing import TypedDict

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.operators.arithmetic.ranges import INT32_LIMIT, largest_accumulators
from aidge_build.operators.arithmetic.requantize import dequantize, dequantize_linear
from aidge_build.operators.base import Operator, require
from aidge_build.operators.view import Reshape
from aidge_build.sources.formats.tflite.node import TfliteNode
from aidge_build.sources.formats.tflite.values import Value

_BYTES = (DType.int8, DType.uint8)
# float32 bounds of the schema's fused activations; the others (TANH, SIGN_BIT) have none.
ACTIVATIONS = {0: (-numpy.inf, numpy.inf), 1: (0.0, numpy.inf), 2: (-1.0, 1.0), 3: (0.0, 6.0)}
BIAS_SLACK = 0.02  # of an output's scale: how far the scale of a bias may be from the scale of the sums


class Form(enum.Enum):
    """The arithmetic of a layer in the graph."""

    INTEGERS = "on quantized tensors"
    REAL = "in float32, between DequantizeLinear and QuantizeLinear where the file has integers"


def form_of(data: Value, weights: Value, output: Value, halfwords: bool = False) -> Form:
    """Returns integers if data and output are bytes (or `halfwords`) of one scale each and the weights are constant bytes; else
    float32."""
    types = (DType.int16,) if halfwords and data.dtype is DType.int16 else _BYTES
    stored = data.dtype in types and output.dtype in types and weights.dtype in _BYTES and weights.is_constant
    scaled = all(value.quantization is not None for value in (data, weights, output))
    if stored and scaled and data.quantization.per_tensor and output.quantization.per_tensor:
        return Form.INTEGERS
    return Form.REAL


def adds_halfwords(source: TfliteNode, weights: numpy.ndarray) -> bool:
    """Whether a layer with int16 data and `weights` [output channel, ...] adds up integers: the contract says so by itself, or
    int32 holds every sum and the bias."""
    if source.on_stored:
        return True
    bias = source.optional_input(2)
    if weights.dtype != numpy.int8 or bias is not None and not (bias.is_constant and bias.dtype is DType.int64):
        return False
    added = numpy.zeros(1, numpy.int64) if bias is None else bias.data
    return bool(largest_accumulators(weights.reshape(len(weights), -1), added, 0, *DType.int16.range).max() < INT32_LIMIT)


def single_product(source: TfliteNode, data: Value) -> bool:
    """Whether LiteRT multiplies the scales of data and weights in float32: it does for uint8, and in float64 for int8."""
    return source.rounding == "double" and data.dtype is DType.uint8


class Clamp(TypedDict):
    """Bounds of a result in real numbers, as operators take them."""

    minimum: float
    maximum: float


def activation(source: TfliteNode) -> Clamp:
    """The fused activation as the bounds of a clamp."""
    number = source.options["fused_activation_function"]
    require(number in ACTIVATIONS, f"its fused activation has the number {number}, which is not supported")
    low, high = ACTIVATIONS[number]
    return Clamp(minimum=low, maximum=high)


def read_data(source: TfliteNode, form: Form) -> str:
    """Returns input 0 in the form of the layer, in the order of the node."""
    return source.read(0) if form is Form.INTEGERS else source.read_real(0)


def parameters(source: TfliteNode, form: Form, weights: numpy.ndarray, channel_axis: int) -> list[str]:
    """Returns weights and bias (inputs 1 and 2) in the form of the layer.

    `weights` are the file's weights with the output's channels moved from `channel_axis` to axis 0.
    """
    value = source.input(1)
    quantization = value.quantization
    if quantization is not None and not quantization.per_tensor:
        require(quantization.axis == channel_axis, f"its weights have scales along axis {quantization.axis}")
        quantization = replace(quantization, axis=0)
    bias = source.optional_input(2)
    if form is Form.REAL:
        if quantization is not None:
            weights = dequantize_linear(weights, quantization)
        require(weights.dtype == numpy.float32, f"its weights are {value.dtype.name} without scale")
        given = [source.add_constant(f"{value.name}_real", weights)]
        return given if bias is None else [*given, _real_bias(source, bias, quantization)]
    given = [source.add_constant(value.name, weights, quantization)]
    return given if bias is None else [*given, _integer_bias(source, bias, quantization)]


def write_layer(
    source: TfliteNode, form: Form, operator: Operator, inputs: list[str], dims: tuple[int, ...] | None = None
) -> None:
    """Writes the layer; `dims` are the output's dims if they differ from the operator's result."""
    like = source.output() if form is Form.INTEGERS else None
    if dims is not None:
        inputs, operator = [source.step(operator, inputs, like)], Reshape(dims)
    if form is Form.INTEGERS:
        source.write(operator, inputs)
    else:
        source.write_real(operator, inputs)


def units_of(data: Quantization, weights: Quantization) -> Quantization:
    """Returns the scales of sums: the data's scale times each scale of the weights; several are along axis 0, as in a bias."""
    scales = tuple(float(data.scale * numpy.float32(one)) for one in weights.scales)
    return Quantization(scales, (0,) * len(scales), None if weights.per_tensor else 0)


def _integer_bias(source: TfliteNode, bias: Value, weights: Quantization) -> str:
    """A bias counts in units of the sums, whatever scale the file states."""
    data = source.input(0)
    wanted = DType.int64 if data.dtype is DType.int16 else DType.int32
    require(bias.is_constant and bias.dtype is wanted, f"its bias is {bias}, wants constant {wanted.name}")
    units = units_of(data.quantization, weights)
    check_bias_scale(source, data, bias, units)
    stored = bias.data if source.on_stored else bias.data.astype(numpy.int32)  # `adds_halfwords`: it fits
    return source.add_constant(bias.name, stored, units)


def check_bias_scale(source: TfliteNode, data: Value, bias: Value, units: Quantization) -> None:
    """Refuses a bias with a scale far from `units` in the layers in which TensorFlow Lite does: layers of uint8, and fully
    connected layers with one scale of weights. Source: GetQuantizedConvolutionMultipler in its kernel_util.cc.
    """
    is_compared = data.dtype is DType.uint8 or source.operator.type == "FULLY_CONNECTED" and units.per_tensor
    if not is_compared or not bias.stated:
        return
    count = len(bias.stated)
    require(count in (1, len(units.scales)), f"its bias has {count} scales, its weights {len(units.scales)}")
    apart = numpy.abs(numpy.array(bias.stated) - numpy.array(units.scales)) / source.output().quantization.scale
    require(
        bool(numpy.all(apart <= BIAS_SLACK)),
        f"its bias '{bias.name}' has the scale {bias.stated[0]:.4g}, data times weights {units.scales[0]:.4g}: TensorFlow Lite "
        "refuses this file, too",
        "convert the model again",
    )


def _real_bias(source: TfliteNode, bias: Value, weights: Quantization | None) -> str:
    if bias.dtype is DType.float32:
        return source.read(2)
    data = source.input(0).quantization
    require(
        bias.is_constant and data is not None and data.per_tensor and weights is not None,
        f"its bias is {bias}, wants float32, or constant integers of a quantized layer",
    )
    real = dequantize(bias.data, units_of(data, weights)).astype(numpy.float32)
    return source.add_constant(f"{bias.name}_real", real)
