# SPDX-License-Identifier: MIT
"""The numpy backend: what a graph means. Every other backend is compared with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy

from aidge_build.backend.evaluate import evaluate
from aidge_build.backend.host import HostBackend
from aidge_build.backend.spec import NodeView
from aidge_build.errors import AidgeError
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView


def run(view: GraphView, inputs: Mapping[str, numpy.ndarray], backends: Sequence[HostBackend] = ()) -> dict[str, numpy.ndarray]:
    """All tensors of the graph by name, in logical order; `inputs` holds the graph's inputs by name.

    Each node runs in the first of the `backends` that accepts it, and in numpy where none does.
    """
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
            results = _evaluated(NodeView.of(view, node), [values[name] if name else None for name in node.inputs], backends)
        except AidgeError as error:
            raise error.within(node.where())
        values.update(zip(node.outputs, results))
    return values


def _evaluated(seen: NodeView, values: list[numpy.ndarray | None], backends: Sequence[HostBackend]) -> tuple[numpy.ndarray, ...]:
    for backend in backends:
        impl = backend.operator_impl(seen)
        if impl.get_best_match() is not None:
            return impl.forward(*values)
    return evaluate(seen.operator, values, seen.inputs, seen.outputs)


def _checked(value: numpy.ndarray, tensor: Tensor) -> numpy.ndarray:
    value = numpy.asarray(value)
    if value.shape != tensor.dims or value.dtype != tensor.dtype.numpy:
        raise AidgeError(f"the input '{tensor.name}' is {value.dtype}{list(value.shape)}, "
                         f"the model wants {tensor.dtype.name}{list(tensor.dims)}")
    return value
