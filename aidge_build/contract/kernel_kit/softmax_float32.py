# SPDX-License-Identifier: MIT
"""float32 softmax along one axis in any storage order, or over several of a row-major tensor: what kernels have in common."""

from __future__ import annotations

import math
from typing import ClassVar

from aidge_build.contract.call import Call, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.spec import ROW_MAJOR, SAME, DFormat, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType


def _one_axis(view: NodeView) -> str:
    return "a row runs over several axes" if view.operator.until_end else ""


def _several_axes(view: NodeView) -> str:
    return "" if view.operator.until_end else "a row runs along one axis"


def _spec(form: DFormat, features: frozenset[str], condition: Predicate) -> ImplSpec:
    side = IOSpec(DType.float32, form)
    return ImplSpec(inputs=(side,), outputs=(side,), features=features, predicates=(REAL, condition))


def along_one_axis(features: frozenset[str]) -> ImplSpec:
    """Returns the spec of float32 in the storage order of the input."""
    return _spec(SAME, features, Predicate("rows run along one axis", _one_axis))


def over_several_axes(features: frozenset[str]) -> ImplSpec:
    """Returns the spec of float32, row-major, with rows over an axis and all axes after it."""
    return _spec(ROW_MAJOR, features, Predicate("rows run over several axes", _several_axes))


class SoftmaxFloat32(ElementWise):
    """A row is read before it is written. A subclass states its function, its file, and what it computes at once."""

    function: ClassVar[str]
    source: ClassVar[str]
    of_neighbours, of_others = "1 value", "1 value"

    def call(self) -> Call:
        (output,), operator = self.outputs, self.operator
        if operator.until_end:
            outer, length, inner = math.prod(output.dims[: operator.axis]), math.prod(output.dims[operator.axis :]), 1
        else:
            dims, place = output.layout.stored_dims, output.storage.position(operator.axis % output.rank)
            outer, length, inner = math.prod(dims[:place]), dims[place], math.prod(dims[place + 1 :])
        return Call(
            self.function,
            (self.source,),
            (Input(0), Output(0), Literal(outer), Literal(length), Literal(inner)),
            facts=computed(self.of_neighbours if inner == 1 else self.of_others),
        )
