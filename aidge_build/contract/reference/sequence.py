# SPDX-License-Identifier: MIT
"""Inferences one after the other, as in the firmware: each begins with the state that the last inference left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy

from aidge_build.contract.reference.context import Context
from aidge_build.contract.reference.execution import Backend, prepare
from aidge_build.graph.view import GraphView


def run_in_order(
    view: GraphView,
    vectors: Mapping[str, numpy.ndarray],
    positions: Iterable[int] | None = None,
    backends: Sequence[Backend] = (),
    names: Sequence[str] = (),
) -> dict[str, numpy.ndarray]:
    """Returns the graph's outputs (or the tensors with these `names`) by name, [vector, dims...], for these inputs by name,
    [vector, dims...].

    States are carried from one inference to the next. `positions` are the indices of vectors to run, by default all in order; the
    caller can count them to show progress. Each node runs in the first of the `backends` that accepts it, else in numpy.
    """
    execution = prepare(view, backends)
    carried: dict[str, numpy.ndarray] = {}
    found: dict[str, list[numpy.ndarray]] = {name: [] for name in names or view.handed_out}
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
