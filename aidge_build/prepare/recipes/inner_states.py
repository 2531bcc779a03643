# SPDX-License-Identifier: MIT
"""Stores states as layers have them: a conversion after reading and its inverse before writing are left out."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node, State
from aidge_build.operators.arithmetic.requantize import dequantize_linear, quantize
from aidge_build.operators.flip_sign import FlipSign
from aidge_build.operators.quantize import DequantizeLinear, QuantizeLinear
from aidge_build.operators.view import Transpose
from aidge_build.prepare.recipes.quantize_constants import linear_quantization

MOST_BYTES = 2  # of a quantized value: all values are tried


def inner_states(view: GraphView) -> GraphView:
    """Returns the graph in which a state holds what the node after it makes of it, if a node before it does the opposite:
    FlipSign both times, Transpose and back, other dims and back, QuantizeLinear after DequantizeLinear of one scale. The outputs
    of the caller keep their values; types and dims of states change.
    """
    while (found := next(filter(None, (_inner(view, state) for state in view.states)), None)) is not None:
        view = found
    return view


def _inner(view: GraphView, state: State) -> GraphView | None:
    """Returns the graph with one conversion less at both ends of the state; None if there is none."""
    after, before = view.only_consumer(state.read), view.producer(state.written)
    if after is None or before is None or view.consumers(state.written) or after.input != state.read:
        return None
    writer = view.producer(before.input)
    if writer is None or writer is after or any(map(view.is_output, (before.input, after.output))):
        return None
    is_alike = _kind(view.tensor(before.input)) == _kind(view.tensor(after.output))
    return _without(view, state, after, before) if is_alike and _undoes(view, after, before) else None


def _without(view: GraphView, state: State, after: Node, before: Node) -> GraphView:
    """Returns the graph without the node after reading the state and without the node before writing it."""
    rewrite, writer = Rewrite(view), view.producer(before.input)
    for name in (state.read, state.written):
        rewrite.put_tensor(view.tensor(after.output).with_(name=name, format=None))
    rewrite.remove_node(after)
    rewrite.remove_node(before)
    rewrite.redirect(after.output, state.read)
    rewrite.redirect(before.input, state.written)
    outputs = tuple(state.written if name == before.input else name for name in writer.outputs)
    rewrite.replace_node(writer, writer.with_(outputs=outputs))
    inputs = view.input_tensors(after)
    values = [state.initial, *(None if tensor is None else tensor.data for tensor in inputs[1:])]
    (initial,) = evaluate(after.operator, values, inputs, view.output_tensors(after))
    rewrite.states = tuple(replace(one, initial=initial) if one is state else one for one in view.states)
    return rewrite.finish()


def _kind(tensor: Tensor) -> tuple:
    return tensor.dims, tensor.dtype, tensor.quantization


def _undoes(view: GraphView, after: Node, before: Node) -> bool:
    """Whether `after` makes of each result of `before` what `before` made it of."""
    first, second = before.operator, after.operator
    if isinstance(first, DequantizeLinear) and isinstance(second, QuantizeLinear):
        stated = linear_quantization(view, before)
        return stated == linear_quantization(view, after) and _is_lossless(view.tensor(after.output), stated)
    if isinstance(first, Transpose) and isinstance(second, Transpose):
        return all(first.permutation[axis] == place for place, axis in enumerate(second.permutation))
    if isinstance(first, Transpose) or isinstance(second, Transpose):
        return False
    both_flip = isinstance(first, FlipSign) and isinstance(second, FlipSign)
    return both_flip or first.views and second.views


def _is_lossless(stored: Tensor, quantization: Quantization | None) -> bool:
    """Whether each stored value is the one that its real number is quantized to."""
    if quantization is None or not quantization.per_tensor or stored.dtype.size_bytes > MOST_BYTES:
        return False
    low, high = stored.dtype.range
    levels = numpy.arange(low, high + 1)
    with numpy.errstate(over="ignore"):
        reals = dequantize_linear(levels, quantization)
        return bool(numpy.array_equal(quantize(reals, quantization, stored.dtype), levels))
