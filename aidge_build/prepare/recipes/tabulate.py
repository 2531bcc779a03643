# SPDX-License-Identifier: MIT
"""Turns operators in a row that compute a value from one 8-bit value alone into a lookup table of 256 results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy

from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.activation import Clip, PReLU
from aidge_build.operators.base import Operator
from aidge_build.operators.binary import Pow, Variadic
from aidge_build.operators.flip_sign import FlipSign, flipped
from aidge_build.operators.kinds import Broadcast, ElementWise
from aidge_build.operators.quantize import DequantizeLinear, QuantizeLinear
from aidge_build.operators.real_table import RealTable
from aidge_build.operators.restated import Restated
from aidge_build.operators.table import LEVELS, Table
from aidge_build.prepare.recipes.recipe import recipe

_FUNCTIONS = (ElementWise, Clip)
FEWEST_REALS = 256  # for fewer floats the functions are called: a table of floats takes 1 KB
_POINTWISE = (*_FUNCTIONS, Broadcast, FlipSign, Pow, PReLU, Variadic, QuantizeLinear, DequantizeLinear)
_BYTES = (DType.int8, DType.uint8)


@recipe(exact=True, of_quantized=True)
def tabulate(view: GraphView) -> GraphView:
    """Examples are HardSwish and SiLU as products, GELU as five nodes, scale and shift, two quantizations in a row. Such a chain
    begins and ends with 8 bits of one scale and contains only functions of one element, sums, products, powers and extremes with
    single numbers or with each other. Each node is evaluated on all 256 values. One function by itself stays, because kernels
    have a table. A chain that ends with FEWEST_REALS floats or more, all finite, after a DequantizeLinear becomes a table, too:
    mostly a network's output.

    A table that changes nothing becomes a view, and a table that only changes the highest bit a FlipSign: uint8 inputs and
    outputs of the graph thus connect to int8 layers. Other tables of uint8 read or write its bits as int8, in the order of the
    int8 values.
    """
    sources = sources_of(view)
    rewrite = Rewrite(view)
    for name, source in sources.items():
        if name == source or not _is_needed(view, sources, name) or view.producer(name) is None:
            continue
        nodes = between(view, sources, name)
        given, made = view.tensor(source), view.tensor(name)
        results = results_of(view, nodes, source, name, LEVELS.view(given.dtype.numpy))
        operator = _plain(given, made, results)
        is_single = len(nodes) == 1 and isinstance(nodes[0].operator, (*_FUNCTIONS, DequantizeLinear, FlipSign))
        if not numpy.isfinite(results).all() or operator is None and is_single:
            continue
        origin = tuple(dict.fromkeys(part for node in nodes for part in node.origin))
        last = nodes[-1].with_(inputs=(source,), origin=origin)
        if operator is not None:
            rewrite.replace_node(nodes[-1], last.with_(operator=operator))
        else:
            rewrite.replace_node(nodes[-1], *_table(rewrite, last, given, made, results))
    return rewrite.finish()


def _plain(given: Tensor, made: Tensor, results: numpy.ndarray) -> Operator | None:
    """Returns the operator that does the same without a table, if there is one."""
    if not _is_stored(made):
        return None
    levels = LEVELS.view(given.dtype.numpy)
    if given.dtype is made.dtype:
        return Restated() if (results == levels).all() else None
    return FlipSign() if (results == flipped(levels)).all() else None


def _table(rewrite: Rewrite, node: Node, given: Tensor, made: Tensor, results: numpy.ndarray) -> tuple[Node, ...]:
    """Returns the node as a table, between views of the bits if the graph's input or output is uint8."""
    before: tuple[Node, ...] = ()
    after: tuple[Node, ...] = ()
    if given.dtype is DType.uint8:
        given = _bits(given, node.name)
        before = (Node(f"{node.name}_bits_read", Restated(DType.int8), node.inputs, (rewrite.add_tensor(given),), node.origin),)
        node = node.with_(inputs=(given.name,))
    if not _is_stored(made):
        return *before, node.with_(operator=RealTable(tuple(results.tolist())))
    if made.dtype is DType.uint8:
        results, made = results.view(numpy.int8), _bits(made, node.name)
        after = (Node(f"{node.name}_bits", Restated(DType.uint8), (rewrite.add_tensor(made),), node.outputs, node.origin),)
        node = node.with_(outputs=(made.name,))
    return *before, node.with_(operator=Table(tuple(results.tolist()), given.quantization, made.quantization)), *after


def _bits(tensor: Tensor, node: str) -> Tensor:
    """Returns the bits of a uint8 tensor as int8, with the meaning of plain integers."""
    plain = replace(tensor.quantization, scales=(1.0,), zero_points=(0,))
    return tensor.with_(name=f"{tensor.name}_bits_of_{node}", dtype=DType.int8, quantization=plain)


def _is_needed(view: GraphView, sources: dict[str, str], name: str) -> bool:
    if _is_stored(view.tensor(name)):
        return is_read_elsewhere(view, sources, name)
    return view.tensor(name).elements >= FEWEST_REALS and _has_other_readers(view, sources, name)


def sources_of(view: GraphView, floats: Sequence[str] = ()) -> dict[str, str]:
    """Returns a source for each quantized 8-bit tensor and for the floats between: the tensor that its elements are a function
    of, or itself if there is no other. `floats` are their own sources, too."""
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
    return tensor.dtype in _BYTES and tensor.quantization is not None and tensor.quantization.per_tensor


def _source(view: GraphView, node: Node, found: dict[str, str]) -> str | None:
    if not isinstance(node.operator, _POINTWISE) or len(node.outputs) != 1:
        return None
    dims = view.tensor(node.output).dims
    sources = set()
    for tensor in view.input_tensors(node):
        if tensor is None or tensor.is_constant and tensor.elements == 1:
            continue
        if tensor.is_constant or tensor.dims != dims or tensor.name not in found:
            return None
        sources.add(found[tensor.name])
    return sources.pop() if len(sources) == 1 else None


def is_read_elsewhere(view: GraphView, sources: dict[str, str], name: str) -> bool:
    """Whether the tensor is stored, and is a graph output or read by a node that is no function of the source alone."""
    return _is_stored(view.tensor(name)) and _has_other_readers(view, sources, name)


def _has_other_readers(view: GraphView, sources: dict[str, str], name: str) -> bool:
    readers = [sources.get(output) for node in view.consumers(name) for output in node.outputs]
    return name in view.outputs or any(reader != sources[name] for reader in readers)


def between(view: GraphView, sources: dict[str, str], name: str) -> list[Node]:
    """Returns the nodes from the source to the tensor, in order."""
    wanted, nodes = {name}, []
    for node in reversed(view.nodes):
        if node.output in wanted and node.output != sources[name]:
            nodes.append(node)
            wanted.update(tensor for tensor in node.inputs if tensor and not view.tensor(tensor).is_constant)
    return nodes[::-1]


def results_of(view: GraphView, nodes: Sequence[Node], source: str, name: str, given: numpy.ndarray) -> numpy.ndarray:
    """Returns the results of the nodes for these elements of the source."""
    values: dict[str, numpy.ndarray] = {source: given}

    def shaped(tensor: Tensor | None) -> Tensor | None:
        if tensor is None:
            return None
        return tensor.with_(dims=(), data=tensor.data.reshape(())) if tensor.is_constant else tensor.with_(dims=given.shape)

    for node in nodes:
        inputs = [shaped(tensor) for tensor in view.input_tensors(node)]
        read = [None if tensor is None else tensor.data if tensor.is_constant else values[tensor.name] for tensor in inputs]
        outputs = [tensor.with_(dims=given.shape) for tensor in view.output_tensors(node)]
        (values[node.output],) = evaluate(node.operator, read, inputs, outputs)
    return values[name]
