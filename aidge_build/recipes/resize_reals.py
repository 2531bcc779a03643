# SPDX-License-Identifier: MIT
"""A Resize of stored values by weights becomes one of real numbers that equal them."""

from __future__ import annotations

import math

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.quantize import DequantizeLinear, QuantizeLinear
from aidge_build.operators.resampling import shares_of
from aidge_build.operators.resize import Resize
from aidge_build.recipes.recipe import recipe

EXACT = 1 << 16  # the largest power of two: float32 holds every sum of 8-bit values over it
DISTINCT = 1 << 10  # the largest odd number: sums over it are farther from the middle of two levels than float32 errs
NEAR = 2.0**-40  # how far a weight in float64 may be from its fraction


@recipe(exact=True)
def resize_reals(view: GraphView) -> GraphView:
    """1. QOperator files resize 8-bit tensors as plain integers: DequantizeLinear of scale 1 and zero point 0, Resize, and
    QuantizeLinear. The layers around it state themselves what the values mean to them (`restate`). 2. Linear weights whose sums
    round the same in float64, float32 and integers: fractions over a power of two, or over an odd number, which has no ties.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        data = view.tensor(node.inputs[0]) if isinstance(node.operator, Resize) and len(node.inputs) == 1 else None
        is_plain = data is not None and data.quantization is None and data.dtype in (DType.int8, DType.uint8)
        if data is not None and is_plain and _rounds_alike(node.operator, data.dims):
            rewrite.replace_node(node, *_between_reals(view, rewrite, node, data))
    return rewrite.finish()


def _rounds_alike(operator: Resize, dims: tuple[int, ...]) -> bool:
    """Whether no sum lies where rounding errors decide between two levels."""
    two_taps = operator.mode == "linear" and not operator.antialias and not operator.begin
    shares = shares_of(operator, dims) if two_taps else None
    if shares is None:
        return False
    for axis, one in enumerate(shares):
        _, weights = operator.taps(axis, dims[axis])
        if (numpy.abs(weights * one.whole - one.shares) > one.whole * NEAR).any():
            return False
    whole = math.prod(one.whole for one in shares)
    return whole <= (DISTINCT if whole % 2 else EXACT) and (whole % 2 == 1 or whole & (whole - 1) == 0)


def _between_reals(view: GraphView, rewrite: Rewrite, node: Node, data: Tensor) -> tuple[Node, Node, Node]:
    (result,) = view.output_tensors(node)
    real, resized = (rewrite.add_tensor(Tensor(f"{tensor.name}_real", tensor.dims, DType.float32)) for tensor in (data, result))
    one = rewrite.add_tensor(constant(f"{node.name}_scale", numpy.array(1, numpy.float32)))
    return (
        Node(f"{node.name}_dequantize", DequantizeLinear(0), (data.name, one), (real,), node.origin),
        node.with_(inputs=(real,), outputs=(resized,)),
        Node(f"{node.name}_quantize", QuantizeLinear(0, data.dtype), (resized, one), (result.name,), node.origin),
    )
