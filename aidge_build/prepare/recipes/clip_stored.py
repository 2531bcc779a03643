# SPDX-License-Identifier: MIT
"""Rewrites Clip of stored integers, by which some exporters write fewer bits, or leave the lowest value out."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.arithmetic.requantize import dequantize_linear, quantize
from aidge_build.operators.quantize import DequantizeLinear
from aidge_build.prepare.recipes.between_reals import on_plain_integers
from aidge_build.prepare.recipes.quantize_constants import linear_quantization
from aidge_build.prepare.recipes.recipe import recipe

_TYPES = (DType.int8, DType.uint8, DType.int16, DType.uint16)


@recipe(exact=True)
def clip_stored(view: GraphView) -> GraphView:
    """1. Clip of a constant is a constant. 2. Clip after QuantizeLinear becomes DequantizeLinear, Clip of the real numbers, and
    QuantizeLinear, if the result is the same for every stored value: later recipes then see an ordinary clamp. A graph output
    stays.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        if node.type != "Clip" or view.is_output(node.output) or not on_plain_integers(view, node):
            continue
        stored, before = view.tensor(node.input), view.producer(node.input)
        if stored.is_constant:
            rewrite.redirect(
                node.output, rewrite.add_tensor(constant(f"{node.output}_clipped", node.operator.forward(stored.data)))
            )
        elif before is not None and before.type == "QuantizeLinear" and stored.dtype in _TYPES:
            quantization = linear_quantization(view, before)
            if quantization is not None and quantization.per_tensor:
                _replace(rewrite, node, before, stored, quantization)
    return rewrite.finish()


def _replace(rewrite: Rewrite, node: Node, before: Node, stored: Tensor, quantization: Quantization) -> None:
    """Replaces the Clip by one of real numbers, or removes it if it changes no stored value; it stays if the results differ."""
    levels = stored.dtype.values
    wanted = node.operator.forward(levels)
    if (wanted == levels).all():
        (result,) = node.outputs
        rewrite.redirect(result, node.input)
        return
    reals = dequantize_linear(levels, quantization)
    low, high = dequantize_linear(wanted[[0, -1]], quantization)
    if (quantize(numpy.clip(reals, low, high), quantization, stored.dtype) != wanted).any():
        return
    real, clipped = (
        rewrite.add_tensor(Tensor(f"{node.output}_{name}", stored.dims, DType.float32)) for name in ("real", "clipped")
    )
    parameters = before.inputs[1:]
    rewrite.replace_node(
        node,
        Node(f"{node.name}_dequantize", DequantizeLinear(), (node.input, *parameters), (real,), node.origin),
        node.with_(operator=replace(node.operator, minimum=float(low), maximum=float(high)), inputs=(real,), outputs=(clipped,)),
        before.with_(name=f"{node.name}_quantize", inputs=(clipped, *parameters), outputs=node.outputs, origin=node.origin),
    )
