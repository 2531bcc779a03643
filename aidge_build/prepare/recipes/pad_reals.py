# SPDX-License-Identifier: MIT
"""Turns a Pad of stored values into a Pad of the real numbers that they mean."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.arithmetic.requantize import dequantize_linear, quantize
from aidge_build.operators.pad import Pad
from aidge_build.prepare.recipes.between_reals import between_reals, on_plain_integers
from aidge_build.prepare.recipes.quantize_constants import linear_quantization
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=True)
def pad_reals(view: GraphView) -> GraphView:
    """1. QOperator files pad 8-bit tensors with the zero point: this becomes DequantizeLinear, Pad with the real number,
    QuantizeLinear, with the parameters of a QuantizeLinear before the Pad or a DequantizeLinear after it. 2. The parameters are
    one scale and constant, and each stored value survives the round trip.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        stating = _stating(view, node) if isinstance(node.operator, Pad) else None
        if stating is not None:
            value = float(dequantize_linear(numpy.array(node.operator.value), linear_quantization(view, stating)))
            padding = node.with_(operator=replace(node.operator, value=value))
            rewrite.replace_node(node, *between_reals(view, rewrite, padding, stating.inputs[1:]))
    return rewrite.finish()


def _stating(view: GraphView, node: Node) -> Node | None:
    """Returns the QuantizeLinear or DequantizeLinear that states the quantization of the stored values."""
    dtype = view.tensor(node.input).dtype
    if dtype not in (DType.int8, DType.uint8) or len(node.inputs) != 1 or not on_plain_integers(view, node):
        return None
    before, readers = view.producer(node.input), view.consumers(node.output)
    users = [before] if before is not None and before.type == "QuantizeLinear" else []
    users += [reader for reader in readers if reader.type == "DequantizeLinear"]
    return next((user for user in users if _come_back(linear_quantization(view, user), dtype)), None)


def _come_back(stated: Quantization | None, dtype: DType) -> bool:
    """Whether all stored values survive the round trip; a scale so large that they overflow fails."""
    if stated is None or not stated.per_tensor:
        return False
    levels = dtype.values
    with numpy.errstate(over="ignore", invalid="ignore"):
        return numpy.array_equal(quantize(dequantize_linear(levels, stated), stated, dtype), levels)
