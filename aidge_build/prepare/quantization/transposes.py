# SPDX-License-Identifier: MIT
"""Moves Transposes after operators that compute each element by itself, until two of them meet and become one or none."""

from __future__ import annotations

import numpy

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.activation import Clip
from aidge_build.operators.kinds import Broadcast, ElementWise
from aidge_build.operators.view import Transpose
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=True)
def move_transposes(view: GraphView) -> GraphView:
    """1. If two Transposes are in a row, the second one reads the input of the first. 2. A Transpose goes after its only reader
    if the reader works element by element, alone or with constants or with Transposes in the same order. The copies of exporters
    that use another order of axes then cancel each other, and layers are next to the nodes that belong to them.
    """
    while (after := _merged(view) or _moved(view)) is not None:
        view = after
    return view


def _merged(view: GraphView) -> GraphView | None:
    for node in view.nodes:
        before = _transpose(view, node.inputs[0]) if isinstance(node.operator, Transpose) else None
        if before is not None:
            rewrite = Rewrite(view)
            order = tuple(before.operator.permutation[axis] for axis in node.operator.permutation)
            rewrite.replace_node(node, node.with_(operator=Transpose(order), inputs=before.inputs))
            return rewrite.finish()
    return None


def _moved(view: GraphView) -> GraphView | None:
    for node in view.nodes:
        found = [_transpose(view, name) for name in node.inputs if name]
        before = next((one for one in found if one is not None), None)
        if before is None or not isinstance(node.operator, ElementWise | Clip | Broadcast):
            continue
        if view.tensor(node.output).rank != len(before.operator.permutation):
            continue
        if all(_goes_along(view, node, name, before.operator) for name in node.inputs):
            return _behind(view, node, before.operator)
    return None


def _transpose(view: GraphView, name: str) -> Node | None:
    producer = view.producer(name) if name else None
    return producer if producer is not None and isinstance(producer.operator, Transpose) else None


def _goes_along(view: GraphView, node: Node, name: str, order: Transpose) -> bool:
    """Whether this input exists in the order before the Transpose: as a Transpose's input, or as another constant."""
    if not name:
        return False
    tensor, producer = view.tensor(name), _transpose(view, name)
    if tensor.is_constant:
        return tensor.quantization is None and tensor.rank <= len(order.permutation)
    return producer is not None and producer.operator == order and view.only_consumer(name) is node


def _behind(view: GraphView, node: Node, order: Transpose) -> GraphView:
    rewrite = Rewrite(view)
    inverse = numpy.argsort(order.permutation)
    inputs = []
    for name in node.inputs:
        tensor, producer = view.tensor(name), view.producer(name)
        if tensor.data is not None:
            values = tensor.data.reshape((1,) * (len(inverse) - tensor.rank) + tensor.dims)
            inputs.append(rewrite.add_tensor(constant(f"{name}_moved", numpy.ascontiguousarray(values.transpose(inverse)))))
        elif producer is not None:
            inputs.append(producer.inputs[0])
    (result,) = view.output_tensors(node)
    dims = tuple(result.dims[axis] for axis in inverse)
    before = rewrite.add_tensor(Tensor(f"{result.name}_before", dims, result.dtype))
    behind = Node(f"{node.name}_transpose", order, (before,), node.outputs, node.origin)
    rewrite.replace_node(node, node.with_(inputs=tuple(inputs), outputs=(before,)), behind)
    return rewrite.finish()
