# SPDX-License-Identifier: MIT
"""Computes masks and positions once: exporters write them again in each layer."""

from __future__ import annotations

from collections.abc import Mapping

from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.prepare.recipes.recipe import recipe

_KINDS = (DType.bool, DType.int64)
_FEW = 16  # elements of constants that are compared by value


@recipe(exact=True)
def mask_once(view: GraphView) -> GraphView:
    """A node with the operator and the inputs of an earlier node is left out, if all that it reads are constants and computed
    truth values or 64-bit integers, and its outputs are no graph outputs."""
    rewrite = Rewrite(view)
    first: dict[tuple[object, ...], Node] = {}
    handed: dict[str, str] = {}
    for node in view.nodes:
        if not _is_of_masks(view, node):
            continue
        key = (node.operator, *(_value(view, name, handed) for name in node.inputs))
        earlier = first.setdefault(key, node)
        if earlier is not node and not any(map(view.is_output, (*node.outputs, *earlier.outputs))):
            for name, same in zip(node.outputs, earlier.outputs):
                handed[name] = same
                rewrite.redirect(name, same)
            rewrite.remove_node(node)
    return rewrite.finish()


def _is_of_masks(view: GraphView, node: Node) -> bool:
    has_computed = False
    for name in node.inputs:
        tensor = view.tensors.get(name)
        if tensor is None or tensor.data is not None:
            continue
        if tensor.dtype not in _KINDS:
            return False
        has_computed = True
    return has_computed


def _value(view: GraphView, name: str, handed: Mapping[str, str]) -> object:
    """Returns what the node reads: the values of a small constant, or a name."""
    tensor = view.tensors.get(name)
    if tensor is not None and tensor.data is not None and tensor.elements <= _FEW:
        return tensor.dims, tensor.dtype, tensor.data.tobytes()
    return handed.get(name, name)
