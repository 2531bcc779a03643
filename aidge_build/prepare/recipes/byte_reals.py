# SPDX-License-Identifier: MIT
"""Turns operators on plain bytes into operators on equal real numbers, which layers compute on bytes."""

from __future__ import annotations

import math

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.activation import ReLU
from aidge_build.operators.batchnorm import BatchNormalization
from aidge_build.operators.binary import Add, Div, Max, Min, Mul, Sub
from aidge_build.operators.cast import Cast
from aidge_build.operators.quantize import ANY_AXIS, DequantizeLinear, QuantizeLinear
from aidge_build.operators.rearrange import Concat
from aidge_build.operators.resampling import shares_of
from aidge_build.operators.resize import Resize
from aidge_build.operators.view import View
from aidge_build.prepare.recipes.between_reals import between_reals, on_plain_integers
from aidge_build.prepare.recipes.recipe import recipe

EXACT = 1 << 16  # the largest power of two: float32 holds every sum of 8-bit values over it
DISTINCT = 1 << 10  # the largest odd number: sums over it are farther from the middle of two levels than float32 errs
NEAR = 2.0**-40  # how far a weight in float64 may be from its fraction
_BYTES = (DType.int8, DType.uint8)
_NORMALIZING = (Add, Sub, Mul, Div, BatchNormalization, View, QuantizeLinear)
_ALIKE = (Concat, Max, Min, ReLU)  # their results are elements of their inputs, or 0


@recipe(exact=True)
def byte_reals(view: GraphView) -> GraphView:
    """1. QOperator files resize 8-bit tensors as plain integers: they become DequantizeLinear of scale 1 and zero point 0,
    Resize, and QuantizeLinear. The layers around it state what the values mean to them (`restate`). 2. Linear weights must give
    sums that round the same in float64, float32 and integers: fractions over a power of two, or over an odd number, which has no
    ties. 3. Concat, Max, Min and Relu next to a QuantizeLinear or a DequantizeLinear change likewise. 4. A Cast of bytes to
    float32 becomes a DequantizeLinear of scale 1 if sums and products with constants lead to a QuantizeLinear: an image is
    normalised so.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        if isinstance(node.operator, Cast) and _is_normalized(view, node):
            scale = rewrite.add_tensor(constant(f"{node.name}_scale", numpy.array(1, numpy.float32)))
            rewrite.replace_node(node, node.with_(operator=DequantizeLinear(ANY_AXIS), inputs=(node.input, scale)))
        if isinstance(node.operator, (Resize, *_ALIKE)) and _works_on_plain_bytes(view, node):
            if isinstance(node.operator, Resize):
                is_alike = len(node.inputs) == 1 and _rounds_alike(node.operator, view.tensor(node.input).dims)
            else:
                is_alike = _is_beside_a_layer(view, node)
            if is_alike:
                scale = rewrite.add_tensor(constant(f"{node.name}_scale", numpy.array(1, numpy.float32)))
                rewrite.replace_node(node, *between_reals(view, rewrite, node, (scale,)))
    return rewrite.finish()


def _is_normalized(view: GraphView, cast: Node) -> bool:
    """Whether only operators with constants, or views, are between this Cast of bytes to float32 and a QuantizeLinear."""
    (data,), (result,) = view.input_tensors(cast), view.output_tensors(cast)
    if data.dtype not in _BYTES or data.is_constant or data.quantization is not None or result.dtype is not DType.float32:
        return False
    node = cast
    while node.type != "QuantizeLinear":
        reader = view.only_consumer(node.output)
        if reader is None or not isinstance(reader.operator, _NORMALIZING):
            return False
        computed = [one for one in view.input_tensors(reader) if one is not None and not one.is_constant]
        if len(computed) != 1:
            return False
        node = reader
    return True


def _works_on_plain_bytes(view: GraphView, node: Node) -> bool:
    tensors = (*view.input_tensors(node), *view.output_tensors(node))
    return on_plain_integers(view, node) and all(tensor is not None and tensor.dtype in _BYTES for tensor in tensors)


def _is_beside_a_layer(view: GraphView, node: Node) -> bool:
    writers, readers = map(view.producer, node.inputs), view.consumers(node.output)
    return any(writer is not None and writer.type == "QuantizeLinear" for writer in writers) or any(
        reader.type == "DequantizeLinear" for reader in readers
    )


def _rounds_alike(operator: Resize, dims: tuple[int, ...]) -> bool:
    """Whether no sum is so near to the middle between two quantized values that rounding errors decide."""
    two_taps = operator.mode == "linear" and not operator.antialias and not operator.begin
    shares = shares_of(operator, dims) if two_taps else None
    if shares is None:
        return False
    for axis, one in enumerate(shares):
        _, weights = operator.taps(axis, dims[axis])
        if not numpy.allclose(weights * one.whole, one.shares, rtol=0, atol=one.whole * NEAR):
            return False
    whole = math.prod(one.whole for one in shares)
    if whole & (whole - 1) == 0:
        return whole <= EXACT
    return whole % 2 == 1 and whole <= DISTINCT
