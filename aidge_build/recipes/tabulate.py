# SPDX-License-Identifier: MIT
"""Operators in a row that compute a value from one int8 value alone become one table of 256 results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.activation import Clip, PReLU
from aidge_build.operators.binary import Pow, Variadic
from aidge_build.operators.kinds import Broadcast, ElementWise
from aidge_build.operators.quantize import DequantizeLinear, QuantizeLinear
from aidge_build.operators.real_table import RealTable
from aidge_build.operators.table import LEVELS, Table
from aidge_build.recipes.recipe import recipe
from aidge_build.reference.evaluate import evaluate

_FUNCTIONS = (ElementWise, Clip)
FEWEST_REALS = 256  # of fewer ones the functions are as well called: a table of floats takes 1 KB
_POINTWISE = (*_FUNCTIONS, Broadcast, Pow, PReLU, Variadic, QuantizeLinear, DequantizeLinear)


@recipe(exact=True)
def tabulate(view: GraphView) -> GraphView:
    """HardSwish and SiLU as products, GELU as five nodes, scale and shift, two quantizations in a row: whatever begins and ends
    with int8 of one scale and does nothing but functions of one element, sums, products, powers, extremes with single numbers or
    with each other. What each node means is evaluated on all 256 values. One function by itself stays: kernels have a table.
    So does what ends with FEWEST_REALS floats or more, all finite, behind a DequantizeLinear: a network's output, mostly.
    """
    sources = sources_of(view)
    rewrite = Rewrite(view)
    for name, source in sources.items():
        if name == source or not _is_needed(view, sources, name) or view.producer(name) is None:
            continue
        nodes = between(view, sources, name)
        if len(nodes) == 1 and isinstance(nodes[0].operator, (*_FUNCTIONS, DequantizeLinear)):
            continue
        origin = tuple(dict.fromkeys(part for node in nodes for part in node.origin))
        given, made = view.tensor(source), view.tensor(name)
        results = results_of(view, nodes, source, name, LEVELS)
        if not numpy.isfinite(results).all():
            continue
        found = tuple(results.tolist())
        table = Table(found, given.quantization, made.quantization) if _is_stored(made) else RealTable(found)
        rewrite.replace_node(nodes[-1], nodes[-1].with_(operator=table, inputs=(source,), origin=origin))
    return rewrite.finish()


def _is_needed(view: GraphView, sources: dict[str, str], name: str) -> bool:
    if _is_stored(view.tensor(name)):
        return is_read_elsewhere(view, sources, name)
    return view.tensor(name).elements >= FEWEST_REALS and _has_other_readers(view, sources, name)


def sources_of(view: GraphView, floats: Sequence[str] = ()) -> dict[str, str]:
    """For each int8 tensor that has a quantization, and for the floats between: the int8 tensor of which its elements are a
    function, itself if there is no other. So are these `floats`."""
    found: dict[str, str] = {name: name for name in view.inputs if _is_stored(view.tensor(name))}
    found.update((name, name) for name in floats)
    for node in view.nodes:
        source = _source(view, node, found)
        for name in node.outputs:
            tensor = view.tensor(name)
            if name in floats:
                continue
            if source is not None and (tensor.dtype is DType.float32 and tensor.quantization is None or _is_stored(tensor)):
                found[name] = source
            elif _is_stored(tensor):
                found[name] = name
    return found


def _is_stored(tensor: Tensor) -> bool:
    return tensor.dtype is DType.int8 and tensor.quantization is not None and tensor.quantization.per_tensor


def _source(view: GraphView, node: Node, found: dict[str, str]) -> str | None:
    if not isinstance(node.operator, _POINTWISE) or len(node.outputs) != 1:
        return None
    dims = view.tensor(node.outputs[0]).dims
    sources = set()
    for tensor in view.input_tensors(node):
        if tensor is None or tensor.is_constant and tensor.elements == 1:
            continue
        if tensor.is_constant or tensor.dims != dims or tensor.name not in found:
            return None
        sources.add(found[tensor.name])
    return sources.pop() if len(sources) == 1 else None


def is_read_elsewhere(view: GraphView, sources: dict[str, str], name: str) -> bool:
    """Whether the int8 tensor is needed where the graph goes on with something else."""
    return _is_stored(view.tensor(name)) and _has_other_readers(view, sources, name)


def _has_other_readers(view: GraphView, sources: dict[str, str], name: str) -> bool:
    readers = [sources.get(output) for node in view.consumers(name) for output in node.outputs]
    return name in view.outputs or any(reader != sources[name] for reader in readers)


def between(view: GraphView, sources: dict[str, str], name: str) -> list[Node]:
    """The nodes from the source to the tensor, in order."""
    wanted, nodes = {name}, []
    for node in reversed(view.nodes):
        if node.outputs[0] in wanted and node.outputs[0] != sources[name]:
            nodes.append(node)
            wanted.update(tensor for tensor in node.inputs if tensor and not view.tensor(tensor).is_constant)
    return nodes[::-1]


def results_of(view: GraphView, nodes: Sequence[Node], source: str, name: str, given: numpy.ndarray) -> numpy.ndarray:
    """What the nodes make of these elements of the source."""
    values: dict[str, numpy.ndarray] = {source: given}

    def shaped(tensor: Tensor | None) -> Tensor | None:
        if tensor is None:
            return None
        return tensor.with_(dims=(), data=tensor.data.reshape(())) if tensor.is_constant else tensor.with_(dims=given.shape)

    for node in nodes:
        inputs = [shaped(tensor) for tensor in view.input_tensors(node)]
        read = [None if tensor is None else tensor.data if tensor.is_constant else values[tensor.name] for tensor in inputs]
        outputs = [tensor.with_(dims=given.shape) for tensor in view.output_tensors(node)]
        (values[node.outputs[0]],) = evaluate(node.operator, read, inputs, outputs)
    return values[name]
