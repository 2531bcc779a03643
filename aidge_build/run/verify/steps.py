# SPDX-License-Identifier: MIT
"""The numpy backend with the float32 operations of the chosen kernels, in their order.

A kernel adds up floats in its own order, and rounds the functions in between in its own way. If a layer quantizes such floats,
the last place decides some integers, and later layers inherit them. So the values that a firmware must have are computed with the
operations of its kernels (`Call.steps`), where a kernel states them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.contract.call import Steps
from aidge_build.contract.reference.execution import Backend, Implementation
from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.contract.spec import NodeView
from aidge_build.graph.view import GraphView
from aidge_build.plan.program import Program
from aidge_build.run.verify.float_tolerance import makes_levels_of_floats
from aidge_build.run.verify.vectors import Vectors


@dataclass(frozen=True)
class _Layer(Implementation):
    """A layer by the operations of its kernel."""

    steps: Steps

    def forward(self, *values: numpy.ndarray | None) -> tuple[numpy.ndarray, ...]:
        return self.steps.forward(*values)

    def backward(self, values, output_gradients):
        raise AidgeError("operations of kernels have no gradients", code="TRAINING", hint="train in the numpy backend")


@dataclass(frozen=True)
class _OfKernels(Backend):
    """The layers by the names of their nodes."""

    layers: Mapping[str, _Layer]

    def accepting(self, view: NodeView) -> Implementation | None:
        return self.layers.get(view.node.name)


def run_as_kernels(
    program: Program,
    vectors: Vectors,
    positions: Iterable[int] | None = None,
    view: GraphView | None = None,
    names: Sequence[str] = (),
) -> Vectors:
    """Returns the outputs (`run_in_order`), or the tensors with these `names`, that the firmware must have: as the numpy backend
    defines them, or, where layers make integers of floats, with the operations of the kernels. `view` is the graph with other
    states."""
    view = view or program.view
    backends = (steps_of(program),) if makes_levels_of_floats(view) else ()
    return run_in_order(view, vectors, positions, backends, names)


def steps_of(program: Program) -> Backend:
    """Returns a backend of the layers with kernels that state their operations on floats."""
    stated = {layer.node.name: layer.call.steps for layer in program.layers}
    return _OfKernels({name: _Layer(steps) for name, steps in stated.items() if steps is not None})
