# SPDX-License-Identifier: MIT
"""Inferences one after the other, as the firmware makes them: each begins with the state that the last one left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy

from aidge_build.contract.reference.context import Context
from aidge_build.contract.reference.execution import prepare
from aidge_build.graph.view import GraphView


def run_in_order(
    view: GraphView, vectors: Mapping[str, numpy.ndarray], positions: Iterable[int] | None = None
) -> dict[str, numpy.ndarray]:
    """What the graph hands out, [vector, dims...] by name, for the inputs that it is given, [vector, dims...].

    States are carried from one to the next. `positions` are those of the vectors, by default all in order: who counts them sees
    how far this is.
    """
    execution = prepare(view)
    carried: dict[str, numpy.ndarray] = {}
    found: dict[str, list[numpy.ndarray]] = {name: [] for name in view.handed_out}
    for index in range(len(next(iter(vectors.values())))) if positions is None else positions:
        sample = {name: values[index] for name, values in vectors.items()}
        context = execution.forward(execution.context({}), {**carried, **sample})
        carried = {state.read: _value(view, context, state.written) for state in view.states}
        for name, values in found.items():
            values.append(_value(view, context, name))
    return {name: numpy.stack(values) for name, values in found.items()}


def _value(view: GraphView, context: Context, name: str) -> numpy.ndarray:
    data = view.tensor(name).data
    return context[name] if data is None else data
