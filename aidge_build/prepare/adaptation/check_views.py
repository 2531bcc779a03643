# SPDX-License-Identifier: MIT
"""Checks each node that runs as an alias of its input: every element must have the same place in memory as in the input."""

from __future__ import annotations

from aidge_build.graph.format import row_major, same_bytes
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.base import Operator
from aidge_build.operators.view import Transpose
from aidge_build.prepare.adaptation.assignment import Assignment
from aidge_build.prepare.recipes.check import broken


def checked_views(assignment: Assignment) -> Assignment:
    """Returns the assignment; AidgeError if the formats on both sides of such a node do not store the same bytes."""
    for node in assignment.view.nodes:
        if assignment.choices[node.name].kernel is None:
            seen = assignment.node_view(node)
            source, result = seen.inputs[0], seen.outputs[0]
            if source.is_constant:
                raise broken("choosing formats", f"it is only another name for the constant '{source.name}', in no buffer", node)
            if not node.operator.views or not _same_places(node.operator, source, result):
                what = f"'{result.name}' ({result}) is no other name for the bytes of '{source.name}' ({source})"
                raise broken("choosing formats", what, node)
    return assignment


def _same_places(operator: Operator, source: Tensor, result: Tensor) -> bool:
    """Whether axes that correspond have the same strides, or both tensors are stored in the order of their elements."""
    if isinstance(operator, Transpose):
        pairs = [(axis, place) for place, axis in enumerate(operator.permutation)]
    else:
        if all(same_bytes(tensor.dims, tensor.storage, row_major(tensor.rank)) for tensor in (source, result)):
            return source.elements == result.elements
        pairs = list(zip(_long(source), _long(result), strict=False))
        if len(_long(source)) != len(_long(result)):
            return False
    strides = source.layout.strides, result.layout.strides
    return all(
        source.dims[one] == result.dims[other] and (source.dims[one] == 1 or strides[0][one] == strides[1][other])
        for one, other in pairs
    )


def _long(tensor: Tensor) -> list[int]:
    return [axis for axis, size in enumerate(tensor.dims) if size != 1]
