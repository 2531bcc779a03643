# SPDX-License-Identifier: MIT
"""How large the values of float32 tensors can be, whatever the model reads: for proofs about attention."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.binary import Add, Mul, Sub
from aidge_build.operators.dynamic import BIAS, DATA, FACTORS, WEIGHTS, DynamicFC
from aidge_build.operators.matmul import FC, MatMul
from aidge_build.operators.normalize import LayerNormalization, RMSNormalization
from aidge_build.operators.quantize import DynamicQuantizeLinear
from aidge_build.operators.scatter import ScatterND

ROUNDING = 1.01  # more than what the rounding of float32 adds to a sum of some thousand terms
LEVELS = 255


@dataclass(frozen=True)
class Bound:
    """The largest magnitude of an element, and the largest length of a row along the last axis."""

    each: float = math.inf
    length: float = math.inf


class LargestValues:
    """Bounds of the tensors of a graph; infinite where nothing is known."""

    def __init__(self, view: GraphView):
        self.view = view
        self._written = {state.read: state for state in view.states}
        self._known: dict[str, Bound] = {}

    def of(self, name: str) -> Bound:
        """Returns the bound of a tensor."""
        if name not in self._known:
            self._known[name] = Bound()  # a state that depends on itself
            self._known[name] = self._found(name)
        return self._known[name]

    def _found(self, name: str) -> Bound:
        tensor, node = self.view.tensor(name), self.view.producer(name)
        size = math.sqrt(tensor.dims[-1]) if tensor.rank else 1.0
        if tensor.is_constant:
            each = float(numpy.abs(tensor.data.astype(numpy.float64)).max(initial=0))
            return Bound(each, each * size)
        if node is None:
            each = self._of_state(name)
            return Bound(each, each * size)
        found = self._of_node(node)
        each = ROUNDING * found.each
        return Bound(each, min(ROUNDING * found.length, each * size))

    def _of_state(self, name: str) -> float:
        """Returns the largest magnitude that the state begins with or gets by ScatterND."""
        state = self._written.get(name)
        writer = None if state is None else self.view.producer(state.written)
        if writer is None or not isinstance(writer.operator, ScatterND) or writer.input != name:
            return math.inf
        if writer.operator.reduction != "none":
            return math.inf
        return max(float(numpy.abs(state.initial).max(initial=0)), self.of(writer.inputs[2]).each)

    def _of_node(self, node: Node) -> Bound:
        operator, inputs = node.operator, node.inputs
        if operator.views:
            return Bound(self.of(inputs[0]).each)
        if isinstance(operator, RMSNormalization | LayerNormalization):
            return self._normalized(node)
        if isinstance(operator, DynamicFC | FC) or type(operator) is MatMul:
            return self._weighted(node)
        if isinstance(operator, DynamicQuantizeLinear):
            given = self.of(inputs[0])
            step = 2 * given.each / LEVELS
            return Bound(given.each + step, given.length + step * math.sqrt(self.view.tensor(inputs[0]).dims[-1]))
        if isinstance(operator, Add | Sub | Mul):
            one, other = (self.of(name).each for name in inputs)
            return Bound(one * other if isinstance(operator, Mul) else one + other)
        if isinstance(operator, ScatterND) and operator.reduction == "none":
            return Bound(max(self.of(inputs[0]).each, self.of(inputs[2]).each))
        return Bound()

    def _weighted(self, node: Node) -> Bound:
        """A layer or a product with constant weights."""
        is_dynamic = isinstance(node.operator, DynamicFC)
        needed = (WEIGHTS, FACTORS) if is_dynamic else (WEIGHTS,)
        weights, *factors = (self.view.tensor(node.inputs[place]) for place in needed)
        if not weights.is_constant or not all(tensor.is_constant for tensor in factors):
            return Bound()
        if is_dynamic:
            return self._linear(node.inputs[DATA], weights.data * factors[0].data[:, None], node.inputs[BIAS:])
        if isinstance(node.operator, FC):
            return self._linear(node.inputs[DATA], weights.data, node.inputs[2:])
        return self._linear(node.inputs[DATA], numpy.swapaxes(weights.data, -1, -2), ())

    def _normalized(self, node: Node) -> Bound:
        """Rows of length sqrt(n), scaled and moved."""
        data, operator = self.view.tensor(node.inputs[0]), node.operator
        others = [self.view.tensor(name) for name in node.inputs[1:] if name]
        if operator.axis % data.rank != data.rank - 1 or not all(other.is_constant for other in others):
            return Bound()
        scale, bias = self._largest(others, 0, 1.0), self._largest(others, 1, 0.0)
        size = math.sqrt(data.dims[-1])
        return Bound(size * scale + bias, size * (scale + bias))

    @staticmethod
    def _largest(tensors, place: int, default: float) -> float:
        return float(numpy.abs(tensors[place].data).max(initial=0)) if place < len(tensors) else default

    def _linear(self, data: str, rows: numpy.ndarray, biases) -> Bound:
        """Sums of products with these rows of weights."""
        given, weights = self.of(data), numpy.abs(rows.astype(numpy.float64))
        by_length = math.sqrt(float((weights**2).sum(axis=-1).max(initial=0))) * given.length
        by_size = float(weights.sum(axis=-1).max(initial=0)) * given.each
        added = sum(self.of(name).each for name in biases if name)
        return Bound(min(by_length, by_size) + added)
