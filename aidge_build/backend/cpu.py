# SPDX-License-Identifier: MIT
"""The numpy backend: what a graph means. Every other backend is compared with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy

from aidge_build.backend.evaluate import evaluate
from aidge_build.backend.execution import prepare
from aidge_build.backend.host import HostBackend
from aidge_build.backend.operator_impl import Impl, OperatorImpl
from aidge_build.backend.prod_conso import ProdConso
from aidge_build.backend.spec import ImplSpec, NodeView
from aidge_build.graph.view import GraphView


def run(view: GraphView, inputs: Mapping[str, numpy.ndarray], backends: Sequence[HostBackend] = ()) -> dict[str, numpy.ndarray]:
    """All tensors of the graph by name, in logical order; `inputs` holds the graph's inputs by name.

    Each node runs in the first of the `backends` that accepts it, and in numpy where none does. Who runs a graph more than
    once prepares it once: `execution.prepare`.
    """
    execution = prepare(view, backends)
    context = execution.forward(execution.context({}), inputs)
    constants = {name: tensor.data for name, tensor in view.tensors.items() if tensor.is_constant}
    return constants | context.instances | context.hidden


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
