# SPDX-License-Identifier: MIT
"""Turns float weights into integers if each output's weights are integers times one scale: exporters that fold batch
normalization into quantized weights leave such weights."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.conv import Convolution
from aidge_build.operators.matmul import FC
from aidge_build.prepare.recipes.quantize_constants import linear_quantization
from aidge_build.prepare.recipes.recipe import recipe

ROUNDED = 2.0**-22  # relative: a level times a scale times a factor is rounded to float32 three times at most
LARGEST = 127
SOME = 16  # weights of an output that are tried first, because they quickly show that there are no such integers
_BYTES = (DType.int8, DType.uint8)


@recipe(exact=False)
def name_levels(view: GraphView) -> GraphView:
    """1. A convolution or FC reads bytes through a DequantizeLinear. 2. Its weights are a constant in float32. 3. The
    weights of each output are integers from -127 to 127 times one scale, except for float32's rounding; the smallest such
    integers are taken. 4. The contract is `onnx`: another contract computes the file's own float32 layer.
    """
    rewrite = Rewrite(view)
    made: dict[str, str | None] = {}
    for node in view.nodes:
        if not isinstance(node.operator, Convolution | FC) or not _reads_bytes(view, node):
            continue
        name = node.inputs[1]
        if name not in made:
            found = levels(view.tensor(name))
            made[name] = None if found is None else rewrite.add_tensor(found)
        if made[name] is not None:
            rewrite.replace_node(node, node.with_(inputs=(node.input, made[name], *node.inputs[2:])))
    return rewrite.finish()


def _reads_bytes(view: GraphView, node: Node) -> bool:
    before = view.producer(node.input)
    if before is None or before.type != "DequantizeLinear" or view.tensor(before.input).dtype not in _BYTES:
        return False
    known = view.tensor(before.input).quantization
    if known is not None and known.rounding != Quantization.rounding:
        return False
    stated = linear_quantization(view, before)
    return stated is not None and stated.per_tensor


def levels(weights: Tensor) -> Tensor | None:
    """Returns the weights [outputs, ...] as int8 with a scale for each output; None if an output has other weights."""
    if not weights.is_constant or weights.quantization is not None or weights.dtype is not DType.float32:
        return None
    rows = weights.data.astype(numpy.float64).reshape(len(weights.data), -1)
    found = []
    for row in rows:
        levels_of_row = _levels_of(row)
        if levels_of_row is None:
            return None
        found.append(levels_of_row)
    stored, scales = zip(*found)
    values = numpy.stack(stored).astype(numpy.int8).reshape(weights.dims)
    quantization = Quantization(scales, (0,) * len(scales), 0)
    return Tensor(f"{weights.name}_levels", weights.dims, DType.int8, values, quantization)


def _levels_of(row: numpy.ndarray) -> tuple[numpy.ndarray, float] | None:
    """Returns integers and scale of one output's weights; a scale is a float32, as in files."""
    largest = numpy.abs(row).max()
    if largest == 0:
        return row, 1.0
    for most in _likely(row[row != 0][:SOME] / largest):
        stored = numpy.rint(row * (most / largest))
        used = stored != 0
        scale = float(numpy.float32((row[used] / stored[used]).mean()))
        if numpy.allclose(stored * scale, row, rtol=ROUNDED, atol=0):
            return stored, scale
    return None


def _likely(some: numpy.ndarray) -> numpy.ndarray:
    """Returns the integers for the largest weight with which these weights, in units of the largest, are nearly whole numbers."""
    wanted = numpy.arange(1, LARGEST + 1)
    products = wanted[:, None] * some
    near = numpy.isclose(numpy.rint(products), products, rtol=4 * ROUNDED, atol=0)
    return wanted[near.all(axis=1)]
