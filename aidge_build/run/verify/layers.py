# SPDX-License-Identifier: MIT
"""The outputs that every layer should have computed from the inputs that it had.

A float layer may differ from numpy in the last place. A layer that quantizes a value halfway between two integers may then give
the other one. Each layer is therefore judged on the firmware's own inputs; integers are compared to the last bit, also after
floats.
"""

from __future__ import annotations

import numpy

from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.graph.view import GraphView
from aidge_build.run.verify.vectors import Vectors


def meanings(view: GraphView, vectors: Vectors, trace: Vectors) -> Vectors:
    """Returns the numpy backend's output of every node by tensor name, [vector, dims...], computed from inputs in the trace."""
    count = len(next(iter(vectors.values())))
    found: dict[str, list[numpy.ndarray]] = {}
    states = {state.read: state.initial for state in view.states}
    for index in range(count):
        known = states | {name: values[index] for name, values in {**vectors, **trace}.items()}
        known |= {name: tensor.data for name, tensor in view.tensors.items() if tensor.is_constant}
        for node in view.nodes:
            inputs = [known[name] if name else None for name in node.inputs]
            results = evaluate(node.operator, inputs, view.input_tensors(node), view.output_tensors(node))
            for name, result in zip(node.outputs, results):
                found.setdefault(name, []).append(result)
                known.setdefault(name, result)  # only another name for the same bytes: no layer, so not in the trace
        states = {state.read: known[state.written] for state in view.states}
    return {name: numpy.stack(values) for name, values in found.items()}
