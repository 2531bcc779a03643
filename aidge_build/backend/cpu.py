# SPDX-License-Identifier: MIT
"""The numpy backend: what a graph means. Every other backend is compared with it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy

from aidge_build.backend.evaluate import evaluate
from aidge_build.errors import AidgeError
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView


def run(view: GraphView, inputs: Mapping[str, numpy.ndarray]) -> dict[str, numpy.ndarray]:
    """All tensors of the graph by name, in logical order; `inputs` holds the graph's inputs by name."""
    values = {name: tensor.data for name, tensor in view.tensors.items() if tensor.is_constant}
    unknown = sorted(inputs.keys() - set(view.inputs))
    if unknown:
        raise AidgeError(f"the model has no input '{unknown[0]}'", hint=f"its inputs are: {', '.join(view.inputs)}")
    for name in view.inputs:
        if name not in inputs:
            raise AidgeError(f"the input '{name}' is not given")
        values[name] = _checked(inputs[name], view.tensor(name))
    for node in view.nodes:
        try:
            results = evaluate(node.operator, [values[name] if name else None for name in node.inputs],
                               view.input_tensors(node), view.output_tensors(node))
        except AidgeError as error:
            raise error.within(node.where())
        values.update(zip(node.outputs, results))
    return values


def _checked(value: numpy.ndarray, tensor: Tensor) -> numpy.ndarray:
    value = numpy.asarray(value)
    if value.shape != tensor.dims or value.dtype != tensor.dtype.numpy:
        raise AidgeError(f"the input '{tensor.name}' is {value.dtype}{list(value.shape)}, "
                         f"the model wants {tensor.dtype.name}{list(tensor.dims)}")
    return value
