# SPDX-License-Identifier: MIT
"""Rows along one axis of a tensor, in its storage order."""

from __future__ import annotations

import math

from aidge_build.contract.call import Struct
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.graph.tensor import Tensor


def rows_along(tensor: Tensor, axis: int) -> tuple[int, int, int]:
    """(outer, length, inner): elements of a row lie `inner` apart, `outer` blocks of `inner` rows."""
    dims, position = tensor.layout.stored_dims, tensor.storage.position(axis % tensor.rank)
    return math.prod(dims[:position]), dims[position], math.prod(dims[position + 1 :])


def softmax_shape(operator, tensor: Tensor) -> Struct:
    """The struct of softmax_int8.h and softmax_float32.h; a row over several axes wants a row-major tensor."""
    if operator.until_end:
        sizes = math.prod(tensor.dims[: operator.axis]), operator.row_length(tensor.dims), 1
    else:
        sizes = rows_along(tensor, operator.axis)
    return Struct("aidge_ref_softmax_shape", dict(zip(("outer", "length", "inner"), sizes)))


def _over_several_axes(view: NodeView) -> str:
    return "a row runs over several axes" if view.operator.until_end else ""


def _along_one_axis(view: NodeView) -> str:
    return "" if view.operator.until_end else "a row runs along one axis"


ALONG_ONE_AXIS = Predicate("rows run along one axis", _over_several_axes)
OVER_SEVERAL_AXES = Predicate("rows run over several axes", _along_one_axis)
