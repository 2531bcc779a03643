# SPDX-License-Identifier: MIT
"""The numpy backend, which defines the meaning of a graph. Every other backend is compared with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy

from aidge_build.contract.reference.execution import Backend, prepare
from aidge_build.graph.view import GraphView


def run(view: GraphView, inputs: Mapping[str, numpy.ndarray], backends: Sequence[Backend] = ()) -> dict[str, numpy.ndarray]:
    """Returns all tensors of the graph by name, in logical order; `inputs` holds the graph's inputs by name.

    States that are not given have their initial values. Each node runs in the first of the `backends` that accepts it, else in
    numpy. To run a graph more than once, call `execution.prepare` once.
    """
    execution = prepare(view, backends)
    context = execution.forward(execution.context({}), inputs)
    constants = {name: tensor.data for name, tensor in view.tensors.items() if tensor.is_constant}
    return constants | context.instances | context.hidden
