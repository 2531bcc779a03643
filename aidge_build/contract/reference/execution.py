# SPDX-License-Identifier: MIT
"""A graph prepared once for the numpy backend and executed often: forward, and backward where operators have one."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy

from aidge_build.base.errors import AidgeError, located
from aidge_build.contract.reference.context import Context
from aidge_build.contract.reference.evaluate import evaluate, reads_reals
from aidge_build.contract.spec import NodeView
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node


class Implementation(Protocol):
    """A node in a backend that runs on this machine."""

    def forward(self, *values: numpy.ndarray | None) -> tuple[numpy.ndarray, ...]:
        """Returns the outputs for these inputs."""

    def backward(
        self, values: Sequence[numpy.ndarray | None], output_gradients: Sequence[numpy.ndarray]
    ) -> Sequence[numpy.ndarray | None]:
        """Returns the gradients of the inputs."""


class Backend(Protocol):
    """A further backend that executes nodes on this machine."""

    def accepting(self, view: NodeView) -> Implementation | None:
        """Returns the node in this backend; None if the backend does not accept it."""


@dataclass(frozen=True, eq=False)
class Step:
    """One node, ready to run: in numpy, or in another backend of this machine that accepted it (`impl`)."""

    node: Node
    seen: NodeView
    impl: Implementation | None

    def forward(self, values: Sequence[numpy.ndarray | None]) -> tuple[numpy.ndarray, ...]:
        """Returns the outputs for these inputs."""
        if self.impl is not None:
            with numpy.errstate(all="ignore"):
                return self.impl.forward(*values)
        return evaluate(self.seen.operator, values, self.seen.inputs, self.seen.outputs)

    def backward(
        self, gradients: Sequence[numpy.ndarray], values: Sequence[numpy.ndarray | None], results: Sequence[numpy.ndarray]
    ) -> Sequence[numpy.ndarray | None]:
        """Returns the gradients of the inputs, given the gradients of the outputs."""
        if self.impl is not None:
            return self.impl.backward(values, gradients)
        if reads_reals(self.seen.operator, self.seen.inputs, self.seen.outputs):
            raise AidgeError(
                "it computes on quantized tensors, which have no gradients", code="TRAINING", hint="train the float model"
            )
        with numpy.errstate(all="ignore"):
            return self.seen.operator.backward(gradients, values, results)


class Execution:
    """A prepared graph. It holds no values: contexts do, so that one execution serves many."""

    def __init__(self, view: GraphView, backends: Sequence[Backend] = (), exact: bool = False):
        """With `exact` floats stay float64 from node to node, as training needs; else each result is rounded to its type."""
        self.view = _in_float64(view) if exact else view
        self._dtype = numpy.float64 if exact else None
        seen = ((node, NodeView.of(self.view, node)) for node in self.view.nodes)
        self._steps = tuple(Step(node, one, _accepting(one, backends)) for node, one in seen)
        self._renewed = frozenset(node.inputs[index] for node in view.nodes for _, index in node.operator.overwrites)

    def context(self, params: MutableMapping[str, numpy.ndarray] | None = None) -> Context:
        """Returns a context with these parameters, by default copies of all float constants; others stay the graph's."""
        if params is None:
            params = {
                name: numpy.array(tensor.data)
                for name, tensor in self.view.tensors.items()
                if tensor.is_constant and tensor.dtype.is_float
            }
        for name, value in params.items():
            wanted = self.view.tensor(name).dims if name in self.view.tensors else value.shape
            if value.shape != wanted:
                raise AidgeError(f"the parameter '{name}' has the dims {list(value.shape)}, the graph wants {list(wanted)}")
        return Context(params)

    def forward(self, context: Context, inputs: Mapping[str, numpy.ndarray]) -> Context:
        """Computes every tensor of the graph; returns the same context. States that are not given have their initial values."""
        context.begin(self._checked(inputs))
        for step in self._steps:
            values = [self._value(context, name) if name else None for name in step.node.inputs]
            with located(step.node.where()):
                results = step.forward(values)
            context.hidden.update(zip(step.node.outputs, results))
            for output, index in step.seen.operator.overwrites:
                if step.node.inputs[index] in context.params:
                    context.overwritten_params[step.node.inputs[index]] = results[output]
        return context

    def backward(self, context: Context, gradients: Mapping[str, numpy.ndarray]) -> Context:
        """Adds up the gradients of all tensors after a forward, given the gradients of some; returns the same context."""
        for name, gradient in gradients.items():
            context.accumulate(name, numpy.broadcast_to(gradient, context[name].shape))
        wanted = self._reaching({*context.params, *context.instances} - self._renewed)
        for step in reversed(self._steps):
            has_gradient = any(name in context.gradients for name in step.node.outputs)
            if not has_gradient or not any(name in wanted for name in step.node.inputs):
                continue
            values = [_real(self._value(context, name)) if name else None for name in step.node.inputs]
            results = [_real(context[name]) for name in step.node.outputs]
            given = [
                numpy.asarray(context.gradients.get(name, numpy.zeros(result.shape)))
                for name, result in zip(step.node.outputs, results)
            ]
            with located(step.node.where()):
                found = step.backward(given, values, results)
            for name, gradient in zip(step.node.inputs, found):
                if gradient is not None and name in wanted:
                    context.accumulate(name, gradient)
        return context

    def _reaching(self, sources: set[str]) -> set[str]:
        """Returns the tensors that depend on one of the sources, and the sources."""
        reached = set(sources)
        for step in self._steps:
            if any(name in reached for name in step.node.inputs):
                reached.update(step.node.outputs)
        return reached

    def _value(self, context: Context, name: str) -> numpy.ndarray:
        tensor = self.view.tensor(name)
        if tensor.is_constant:
            return context.params.get(name, tensor.data)
        return context[name]

    def _checked(self, inputs: Mapping[str, numpy.ndarray]) -> dict[str, numpy.ndarray]:
        unknown = sorted(inputs.keys() - set(self.view.inputs))
        if unknown:
            raise AidgeError(f"the model has no input '{unknown[0]}'", hint=f"its inputs are: {', '.join(self.view.inputs)}")
        inputs = {state.read: state.initial for state in self.view.states} | dict(inputs)
        missing = [name for name in self.view.inputs if name not in inputs]
        if missing:
            raise AidgeError(f"the input '{missing[0]}' is not given")
        return {name: _checked(inputs[name], self.view.tensor(name), self._dtype) for name in self.view.inputs}


def prepare(view: GraphView, backends: Sequence[Backend] = (), exact: bool = False) -> Execution:
    """Returns an execution of the graph; each node runs in the first of the `backends` that accepts it, else in numpy."""
    return Execution(view, backends, exact)


def _accepting(seen: NodeView, backends: Sequence[Backend]) -> Implementation | None:
    accepted = (backend.accepting(seen) for backend in backends)
    return next((one for one in accepted if one is not None), None)


def _in_float64(view: GraphView) -> GraphView:
    """Returns the same graph with float64 in place of other float types."""

    def widened(tensor: Tensor) -> Tensor:
        if not tensor.dtype.is_float:
            return tensor
        return tensor.with_(dtype=DType.float64, data=None if tensor.data is None else tensor.data.astype(numpy.float64))

    tensors = {name: widened(tensor) for name, tensor in view.tensors.items()}
    return GraphView(view.name, view.nodes, tensors, view.inputs, view.outputs, view.states)


def _real(values: numpy.ndarray) -> numpy.ndarray:
    """Returns floats as float64, the type of `backward`."""
    return values.astype(numpy.float64, copy=False) if values.dtype.kind == "f" else values


def _checked(value: numpy.ndarray, tensor: Tensor, dtype: type | None) -> numpy.ndarray:
    value = numpy.asarray(value)
    if dtype is not None and value.dtype.kind == "f":
        value = value.astype(dtype)
    if value.shape != tensor.dims or value.dtype != tensor.dtype.numpy:
        raise AidgeError(
            f"the input '{tensor.name}' is {value.dtype}{list(value.shape)}, "
            f"the model wants {tensor.dtype.name}{list(tensor.dims)}"
        )
    return value
