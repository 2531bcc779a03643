# SPDX-License-Identifier: MIT
"""The numpy backend as the inherited API sees a backend: an operator with specs, matches and kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.compat.operator_impl import Impl, OperatorImpl
from aidge_build.compat.prod_conso import ProdConso
from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.contract.spec import ImplSpec, NodeView


class CpuImpl(OperatorImpl):
    """An operator in the numpy backend, asked as in any other: it accepts every type and format as it is."""

    def __init__(self, operator: NodeView):
        super().__init__(operator, "cpu")

    def get_available_impl_specs(self) -> list[ImplSpec]:
        return [self.get_required_spec()]

    def get_impl(self, spec: ImplSpec) -> Impl:
        return Impl(ProdConso.model_of_kind, _forward, _backward if self.get_operator().operator.has_backward() else None)


def _forward(view: NodeView, values: Sequence[numpy.ndarray | None]) -> tuple[numpy.ndarray, ...]:
    return evaluate(view.operator, values, view.inputs, view.outputs)


def _backward(
    view: NodeView, values: Sequence[numpy.ndarray | None], gradients: Sequence[numpy.ndarray]
) -> tuple[numpy.ndarray | None, ...]:
    return view.operator.backward(gradients, values, _forward(view, values))
