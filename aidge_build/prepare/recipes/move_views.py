# SPDX-License-Identifier: MIT
"""Turns views between a quantization and its operator into views of the stored values."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.arithmetic.requantize import dequantize_linear
from aidge_build.operators.kinds import Moved
from aidge_build.operators.restated import Restated
from aidge_build.operators.view import Transpose
from aidge_build.prepare.recipes.moved_constants import moved_constants
from aidge_build.prepare.recipes.quantize_constants import linear_quantization
from aidge_build.prepare.recipes.quantize_islands import selects
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=True)
def move_views(view: GraphView) -> GraphView:
    """1. A view of a constant is a constant, and so are elements of quantized constants that an operator moves. 2.
    DequantizeLinear goes after views and operators that select elements: the next operator is then between DequantizeLinear and
    QuantizeLinear. 3. QuantizeLinear, ReLU and Clip go before views, and before operators that write more elements than they
    read: each element is then computed once. Scales along an axis are not moved, except in constants.
    """
    view = _behind(_folded(view))
    while (moved := _in_front(view)) is not view:
        view = moved
    return view


def _folded(view: GraphView) -> GraphView:
    rewrite = Rewrite(view)
    made: dict[str, Tensor] = {}
    for node in view.nodes:
        if isinstance(node.operator, Moved) and not any(map(view.is_output, node.outputs)):
            inputs = [made.get(name, view.tensor(name)) if name else None for name in node.inputs]
            moved = dict(zip(node.outputs, moved_constants(node, inputs)))
            for name, tensor in moved.items():
                rewrite.redirect(name, rewrite.add_tensor(tensor))
            made |= moved
            continue
        source = made.get(node.input, view.tensor(node.input)) if node.operator.views else None
        if source is None or not source.is_constant or isinstance(node.operator, Restated):
            continue
        (name,) = node.outputs
        if view.is_output(name):
            rewrite.update_tensor(name, data=node.operator.forward(_real(source).data))
        else:
            made[name] = _seen(node, source)
            rewrite.redirect(name, rewrite.add_tensor(made[name]))
        rewrite.remove_node(node)
    return rewrite.finish()


def _seen(node: Node, source: Tensor) -> Tensor:
    """Returns the constant as the view shows it: its real values if its scales along an axis are along no axis of the view."""
    if source.quantization is not None and not source.quantization.per_tensor:
        quantization = _seen_quantization(node, source, source.quantization)
        source = _real(source) if quantization is None else source.with_(quantization=quantization)
    data = numpy.asarray(node.operator.forward(source.data), order="C")
    return source.with_(name=f"{source.name}_seen", dims=data.shape, data=data)


def _seen_quantization(node: Node, source: Tensor, quantization: Quantization) -> Quantization | None:
    """Returns the quantization along an axis after the view. An axis that becomes part of a longer one repeats its scales."""
    axis = quantization.axis
    if isinstance(node.operator, Transpose):
        return replace(quantization, axis=node.operator.permutation.index(axis))
    dims, count = node.operator.forward(source.data).shape, len(quantization.scales)
    before = math.prod(source.dims[:axis])
    place = next((j for j, size in enumerate(dims) if size % count == 0 and math.prod(dims[:j]) == before), None)
    if place is None:
        return None
    each = dims[place] // count
    scales, points = (
        tuple(numpy.repeat(list(values), each).tolist()) for values in (quantization.scales, quantization.zero_points)
    )
    return replace(quantization, scales=scales, zero_points=points, axis=place)


def _real(source: Tensor) -> Tensor:
    """Returns the constant without quantization."""
    if source.quantization is None:
        return source
    return source.with_(dtype=DType.float32, data=dequantize_linear(source.data, source.quantization), quantization=None)


def _behind(view: GraphView) -> GraphView:
    rewrite = Rewrite(view)
    stated = {node.output: linear_quantization(view, node) for node in view.nodes if node.type == "DequantizeLinear"}
    dequantized = {node.output: node for node in view.nodes if node.type == "DequantizeLinear"}
    for node in view.nodes:
        quantization = stated.get(node.input) if node.inputs and len(node.outputs) == 1 else None
        if quantization is None or not quantization.per_tensor or not selects(node) or _grows(view, node):
            continue
        if any(name in stated for name in node.inputs[1:]) or _is_island(view, node, quantization):
            continue
        before, (result,) = dequantized[node.input], view.output_tensors(node)
        stored = rewrite.tensors[before.input]
        name = rewrite.add_tensor(Tensor(f"{result.name}_stored", result.dims, stored.dtype, quantization=stored.quantization))
        behind = Node(
            f"{node.name}_dequantize", before.operator, (name, *before.inputs[1:]), node.outputs, (*before.origin, *node.origin)
        )
        rewrite.replace_node(node, node.with_(inputs=(before.input, *node.inputs[1:]), outputs=(name,)), behind)
        stated[result.name], dequantized[result.name] = quantization, behind
    return rewrite.finish()


def _grows(view: GraphView, node: Node) -> bool:
    """Whether the node writes more elements than it reads: after it there would be more to compute."""
    return selects(node) and view.tensor(node.output).elements > view.tensor(node.input).elements


def _is_island(view: GraphView, node: Node, quantization: Quantization) -> bool:
    """Whether each reader only restores the quantization."""
    return node.output not in view.outputs and all(
        reader.type == "QuantizeLinear" and linear_quantization(view, reader) == quantization
        for reader in view.consumers(node.output)
    )


def _is_of_each_element(view: GraphView, node: Node) -> bool:
    """Whether the node does the same to every element, and is best next to the node that computes it."""
    if node.type != "QuantizeLinear":
        return node.type in ("ReLU", "Clip")
    quantization = linear_quantization(view, node)
    return quantization is not None and quantization.per_tensor


def _in_front(view: GraphView) -> GraphView:
    rewrite = Rewrite(view)
    for node in view.nodes:
        behind = view.only_consumer(node.output) if node.operator.views or _grows(view, node) else None
        if behind is None or not _is_of_each_element(view, behind):
            continue
        before = view.producer(node.input)
        if before is None or not _may_move_before(view, node, before, behind):
            continue
        (result,) = view.output_tensors(behind)
        dims = view.tensor(node.input).dims
        name = rewrite.add_tensor(Tensor(f"{node.input}_stored", dims, result.dtype, quantization=result.quantization))
        rewrite.replace_node(node, behind.with_(inputs=(node.input, *behind.inputs[1:]), outputs=(name,)))
        rewrite.replace_node(behind, node.with_(inputs=(name, *node.inputs[1:]), outputs=behind.outputs))
    return rewrite.finish()


def _may_move_before(view: GraphView, node: Node, before: Node, behind: Node) -> bool:
    """Whether `behind` may go before `node`. Between two quantizations a view stays; a copy of elements goes last, unless both
    quantizations are the same."""
    if before.type == "DequantizeLinear":
        if node.operator.views or behind.type != "QuantizeLinear":
            return False
        return linear_quantization(view, before) != linear_quantization(view, behind)
    return view.only_consumer(node.input) is node
