# SPDX-License-Identifier: MIT
"""Gives a tensor that a file writes and reads with different scales a name for each scale."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.arithmetic.requantize import dequantize_linear, quantize
from aidge_build.operators.restated import Restated
from aidge_build.prepare.recipes.quantize_constants import linear_quantization
from aidge_build.prepare.recipes.quantize_islands import selects
from aidge_build.prepare.recipes.recipe import recipe

_BYTES = (DType.int8, DType.uint8)


@recipe(exact=True, of_quantized=True)
def restate(view: GraphView) -> GraphView:
    """1. A DequantizeLinear with another quantization than the writer of the stored values reads them under another name. 2. A
    QuantizeLinear after an operator that only selects elements gets the quantization of its input, and its old quantization goes
    to another name, if both give every byte the same stored value, as scales do that differ by rounding.
    """
    return _by_readers(_behind_selections(view))


def _by_readers(view: GraphView) -> GraphView:
    rewrite = Rewrite(view)
    written: dict[str, Quantization] = {}
    named: dict[tuple[str, Quantization], str] = {}
    for node in view.nodes:
        stated = linear_quantization(view, node) if node.type in ("QuantizeLinear", "DequantizeLinear") else None
        if node.type == "QuantizeLinear" and stated is not None:
            written[node.output] = stated
        elif selects(node) and node.input in written and len(node.outputs) == 1:
            written[node.output] = written[node.input]
        elif node.type == "DequantizeLinear" and stated is not None and not view.tensor(node.input).is_constant:
            source = node.input
            if written.setdefault(source, stated) == stated or not (stated.per_tensor and written[source].per_tensor):
                continue
            between: tuple[Node, ...] = ()
            if (source, stated) not in named:
                tensor = view.tensor(source)
                named[source, stated] = rewrite.add_tensor(Tensor(f"{source}_restated", tensor.dims, tensor.dtype))
                between = (Node(f"{node.name}_restated", Restated(), (source,), (named[source, stated],), node.origin),)
            rewrite.replace_node(node, *between, node.with_(inputs=(named[source, stated], *node.inputs[1:])))
    return rewrite.finish()


def _behind_selections(view: GraphView) -> GraphView:
    rewrite = Rewrite(view)
    for node in view.nodes:
        if node.type != "QuantizeLinear":
            continue
        selection = view.producer(node.input)
        before = view.producer(selection.input) if selection is not None and selects(selection) else None
        if before is None or before.type != "DequantizeLinear":
            continue
        first, second = linear_quantization(view, before), linear_quantization(view, node)
        (result,) = view.output_tensors(node)
        if first == second or not _are_alike(first, second, view.tensor(before.input).dtype, result.dtype):
            continue
        scale, point = (
            rewrite.add_tensor(constant(f"{node.name}_{what}", values))
            for what, values in (
                ("scale", numpy.array(first.scale, numpy.float32)),
                ("zero_point", numpy.array(first.zero_point, result.dtype.numpy)),
            )
        )
        name = rewrite.add_tensor(Tensor(f"{result.name}_selected", result.dims, result.dtype))
        rewrite.replace_node(
            node,
            node.with_(inputs=(node.input, scale, point), outputs=(name,)),
            Node(f"{node.name}_restated", Restated(), (name,), node.outputs, node.origin),
        )
    return rewrite.finish()


def _are_alike(first: Quantization | None, second: Quantization | None, source: DType, result: DType) -> bool:
    """Whether dequantizing by the first and quantizing by the second gives every byte back."""
    if first is None or second is None or source is not result or source not in _BYTES:
        return False
    if not (first.per_tensor and second.per_tensor):
        return False
    levels = source.values
    return numpy.array_equal(quantize(dequantize_linear(levels, first), second, result), levels)
