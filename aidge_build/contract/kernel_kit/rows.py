# SPDX-License-Identifier: MIT
"""Rows of a tensor in its storage order, along one axis or, as before ONNX opset 13, over an axis and all axes after it."""

from __future__ import annotations

import math

from aidge_build.contract.spec import ROW_MAJOR, SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor


def rows_along(tensor: Tensor, axis: int) -> tuple[int, int, int]:
    """Returns (outer, length, inner): the elements of a row are `inner` elements apart, in `outer` blocks of `inner` rows."""
    dims, position = tensor.layout.stored_dims, tensor.storage.position(axis % tensor.rank)
    return math.prod(dims[:position]), dims[position], math.prod(dims[position + 1 :])


def rows_of(operator, tensor: Tensor) -> tuple[int, int, int]:
    """Returns the same for a softmax; its rows over several axes require a row-major tensor."""
    if not operator.until_end:
        return rows_along(tensor, operator.axis)
    return math.prod(tensor.dims[: operator.axis]), operator.row_length(tensor.dims), 1


def logical_axes(operator, rank: int) -> tuple[int, int]:
    """Returns the first axis of a row of a softmax and the axis after its last one."""
    first = operator.axis % rank
    return first, rank if operator.until_end else first + 1


def _over_several_axes(view: NodeView) -> str:
    return "a row runs over several axes" if view.operator.until_end else ""


def _along_one_axis(view: NodeView) -> str:
    return "" if view.operator.until_end else "a row runs along one axis"


ALONG_ONE_AXIS = Predicate("rows run along one axis", _over_several_axes)
OVER_SEVERAL_AXES = Predicate("rows run over several axes", _along_one_axis)


def softmax_specs(dtype: DType, *predicates: Predicate, features: frozenset[str] = frozenset()) -> tuple[ImplSpec, ImplSpec]:
    """Returns the specs of a softmax of this type: along one axis in any storage order, and over several if it is row-major."""

    def spec(form, condition: Predicate) -> ImplSpec:
        side = IOSpec(dtype, form)
        return ImplSpec(side, predicates=(*predicates, condition), features=features)

    return spec(SAME, ALONG_ONE_AXIS), spec(ROW_MAJOR, OVER_SEVERAL_AXES)
