# SPDX-License-Identifier: MIT
"""Computes a convolution or fully connected layer of stored bytes with a float result as sums of integers, scaled to float."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.arithmetic.ranges import fits_int32
from aidge_build.operators.arithmetic.requantize import centred, dequantize_linear
from aidge_build.operators.conv import Convolution
from aidge_build.operators.dynamic import DynamicConv, DynamicFC, DynamicLayer
from aidge_build.operators.matmul import FC
from aidge_build.prepare.recipes.quantize_constants import linear_quantization
from aidge_build.prepare.recipes.recipe import recipe

BIAS = 2  # its place among the inputs
_BYTES = (DType.int8, DType.uint8)


@recipe(exact=False)
def scale_sums(view: GraphView) -> GraphView:
    """1. The data come from bytes with one scale through a DequantizeLinear, the weights are constant bytes with one scale or one
    for each output, the bias is any constant number. 2. The result is float: the last layer of a file, or one in front of an
    activation that is computed in float. 3. int32 holds every sum.

    Then float32(sum of (x - zero point) * w) * float32(sx * sw) + bias: the weights stay bytes.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        layer = _layer(node)
        if layer is None:
            continue
        stored = _stored_data(view, node)
        if stored is None:
            continue
        parameters = _parameters(node, stored, *view.input_tensors(node)[1:])
        if parameters is not None:
            names = [rewrite.add_tensor(tensor) for tensor in parameters]
            rewrite.replace_node(node, node.with_(operator=layer, inputs=(stored.name, *names)))
    return rewrite.finish()


def _layer(node: Node) -> DynamicLayer | None:
    operator = node.operator
    if isinstance(operator, Convolution):
        bounds = {"minimum": operator.minimum, "maximum": operator.maximum}
        return DynamicConv(window=operator.window, groups=operator.groups, **bounds)
    return DynamicFC(minimum=operator.minimum, maximum=operator.maximum) if isinstance(operator, FC) else None


def _stored_data(view: GraphView, node: Node) -> Tensor | None:
    """Returns the bytes that the first input comes from; None if there are none, or if the result is quantized."""
    if any(tensor.quantization is not None or tensor.dtype is not DType.float32 for tensor in view.output_tensors(node)):
        return None
    producer = view.producer(node.input)
    if producer is None or producer.type != "DequantizeLinear":
        return None
    source = view.tensor(producer.input)
    stated = linear_quantization(view, producer)
    fits = source.dtype in _BYTES and stated is not None and stated.per_tensor and source.quantization in (None, stated)
    return source.with_(quantization=stated) if fits else None


def _parameters(node: Node, data: Tensor, weights: Tensor, bias: Tensor | None = None) -> tuple[Tensor, ...] | None:
    """Returns weights, zero point, scale, factors and bias; None if they are computed, or if int32 might not hold a sum."""
    known = weights.quantization
    if not weights.is_constant or weights.dtype not in _BYTES or known is None or known.axis not in (None, 0):
        return None
    if bias is not None and not (bias.is_constant and numpy.isfinite(_real(bias)).all()):
        return None
    values = centred(weights.data, known)
    farthest = max(abs(end - data.quantization.zero_point) for end in data.dtype.range)
    if not fits_int32(values, farthest):
        return None
    name = node.name
    found = [
        constant(f"{name}_weights", values.astype(numpy.int8 if DType.int8.holds(values) else numpy.int16)),
        constant(f"{name}_zero_point", numpy.array(data.quantization.zero_point, data.dtype.numpy)),
        constant(f"{name}_scale", numpy.array(data.quantization.scale, numpy.float32)),
        constant(f"{name}_factors", numpy.broadcast_to(_scales(known), (len(values),)).copy()),
    ]
    return tuple(found) if bias is None else (*found, constant(f"{name}_bias", _real(bias)))


def _scales(quantization: Quantization) -> numpy.ndarray:
    return numpy.array(quantization.scales, numpy.float32)


def _real(bias: Tensor) -> numpy.ndarray:
    values = bias.data if bias.quantization is None else dequantize_linear(bias.data, bias.quantization)
    return values.astype(numpy.float32)
