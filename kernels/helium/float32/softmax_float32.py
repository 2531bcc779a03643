# SPDX-License-Identifier: MIT
"""float32 softmax: rows of neighbouring values four values at a time, others four rows at a time."""

from __future__ import annotations

import math

from aidge_build.contract.call import Call, Input, Literal, Output, computed
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR, SAME, DFormat, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.conditions import REAL
from aidge_build.kernel_kit.elementwise import ElementWise

from ..conditions import MVE


def _one_axis(view: NodeView) -> str:
    return "a row runs over several axes" if view.operator.until_end else ""


def _several_axes(view: NodeView) -> str:
    return "" if view.operator.until_end else "a row runs along one axis"


def _spec(form: DFormat, condition: Predicate) -> ImplSpec:
    sides = IOSpec(DType.float32, form)
    return ImplSpec(inputs=(sides,), outputs=(sides,), features=MVE, predicates=(REAL, condition))


class _Softmax(ElementWise):
    def of(self, outer: int, length: int, inner: int) -> Call:
        return Call(
            "aidge_helium_softmax_float32",
            ("float32/softmax.h",),
            (Input(0), Output(0), Literal(outer), Literal(length), Literal(inner)),
            facts=computed("4 values" if inner == 1 else "4 rows"),
        )


@kernel("Softmax", _spec(SAME, Predicate("rows run along one axis", _one_axis)))
class SoftmaxFloat32(_Softmax):
    def call(self) -> Call:
        (output,) = self.outputs
        dims, place = output.layout.stored_dims, output.storage.position(self.operator.axis % output.rank)
        return self.of(math.prod(dims[:place]), dims[place], math.prod(dims[place + 1 :]))


@kernel("Softmax", _spec(ROW_MAJOR, Predicate("rows run over several axes", _several_axes)))
class SoftmaxRowsFloat32(_Softmax):
    def call(self) -> Call:
        dims, axis = self.outputs[0].dims, self.operator.axis
        return self.of(math.prod(dims[:axis]), math.prod(dims[axis:]), 1)
