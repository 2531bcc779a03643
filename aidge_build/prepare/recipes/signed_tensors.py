# SPDX-License-Identifier: MIT
"""Turns quantized uint8 tensors into int8 with a zero point 128 lower. Constant weights lose their zero point, and become int16
if they need 9 bits without it.

Both changes are exact: operators on quantized tensors use only stored value minus zero point, which stays the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.arithmetic.requantize import centred
from aidge_build.operators.flip_sign import SHIFT, FlipSign, flipped
from aidge_build.operators.linear import LinearQuantized
from aidge_build.prepare.recipes.recipe import recipe

_STATED = ("QuantizeLinear", "DequantizeLinear")  # they state scale and zero point by inputs of their own


@recipe(exact=True, of_quantized=True)
def signed_tensors(view: GraphView) -> GraphView:
    """1. Computed and constant tensors become int8, so that int8 kernels take their nodes. 2. QuantizeLinear and DequantizeLinear
    around them state the new zero point. 3. Graph inputs and outputs keep their type: one node converts them, for an input after
    its views; a tensor that only these two operators touch stays as it is. 4. Weights of linear operators are stored less their
    zero point, in int8 if it holds them.
    """
    rewrite = Rewrite(view)
    seen = [_seen_through(view, name) for name in view.inputs]
    inner = [names[-1] for names in seen]
    borders = {name for name in inner if _is_border(view, name)}
    kept = set().union(*seen) - borders
    unsigned = [name for name in view.tensors if name not in kept and _is_unsigned(view, name, borders)]
    inside = {name: _name_inside(view, rewrite, name, borders) for name in unsigned}
    for node in view.nodes:
        reads = tuple(inside.get(name, name) for name in node.inputs)
        writes = tuple(name if name in borders else inside.get(name, name) for name in node.outputs)
        if (reads, writes) != (node.inputs, node.outputs) or _touches(node, inside):
            rewrite.replace_node(node, _restated(rewrite, node.with_(inputs=reads, outputs=writes), node, inside))
    _convert_borders(view, rewrite, inner, inside)
    return _without_zero_points(rewrite.finish())


def _is_border(view: GraphView, name: str) -> bool:
    return not view.is_output(name) or name in view.inputs


def _convert_borders(view: GraphView, rewrite: Rewrite, inputs: Sequence[str], inside: Mapping[str, str]) -> None:
    """Adds the nodes between graph inputs and outputs, which keep their type, and the signed tensors."""
    for name in inputs:
        if name in inside:
            rewrite.append_node(Node(f"{name}_signed", FlipSign(), (name,), (inside[name],)))
    for name in view.outputs:
        if name in inside and name not in view.inputs:  # an input that is an output, too, is no result
            rewrite.append_node(Node(f"{name}_unsigned", FlipSign(), (inside[name],), (name,)))


def _seen_through(view: GraphView, name: str) -> list[str]:
    """Returns a graph input and the views of it in a row, as long as each has only one reader."""
    names = [name]
    while (reader := view.only_consumer(names[-1])) is not None and reader.operator.views:
        names += reader.outputs
    return names


def _is_unsigned(view: GraphView, name: str, borders: Collection[str]) -> bool:
    tensor = view.tensor(name)
    if tensor.dtype is not DType.uint8 or tensor.quantization is None:
        return False
    if name in borders or view.is_output(name):
        users = (None if name in borders else view.producer(name), *view.consumers(name))
        return any(node is not None and node.type not in _STATED for node in users)
    return True


def _name_inside(view: GraphView, rewrite: Rewrite, name: str, borders: Collection[str]) -> str:
    """Returns the name of the tensor in int8: a new name for a graph output, a graph input or a view of an input."""
    tensor = view.tensor(name)
    made = tensor.with_(
        dtype=DType.int8, quantization=_lowered(tensor.quantization), data=None if tensor.data is None else flipped(tensor.data)
    )
    if name in borders or view.is_output(name):
        return rewrite.add_tensor(made.with_(name=f"{name}_int8"))
    rewrite.update_tensor(name, dtype=made.dtype, quantization=made.quantization, data=made.data)
    return name


def _lowered(quantization: Quantization) -> Quantization:
    return replace(quantization, zero_points=tuple(point - SHIFT for point in quantization.zero_points))


def _touches(node: Node, inside: dict[str, str]) -> bool:
    return node.type in _STATED and (node.input in inside or node.output in inside)


def _restated(rewrite: Rewrite, node: Node, old: Node, inside: dict[str, str]) -> Node:
    """Returns QuantizeLinear and DequantizeLinear with the zero point of the int8 tensor; any other node as it is."""
    if not _touches(old, inside):
        return node
    scale = rewrite.tensors[node.inputs[1]]
    stated = (
        rewrite.tensors[node.inputs[2]].data if len(node.inputs) > 2 and node.inputs[2] else numpy.zeros(scale.dims, numpy.uint8)
    )
    point = rewrite.add_tensor(constant(f"{node.name}_zero_point", flipped(numpy.asarray(stated, order="C"))))
    node = node.with_(inputs=(*node.inputs[:2], point))
    return replace(node, operator=replace(node.operator, dtype=DType.int8)) if node.type == "QuantizeLinear" else node


def _without_zero_points(view: GraphView) -> GraphView:
    rewrite = Rewrite(view)
    made: dict[str, str] = {}
    for node in view.nodes:
        if (
            not isinstance(node.operator, LinearQuantized)
            or len(node.inputs) < 2
            or any(tensor.quantization is None for tensor in view.output_tensors(node))
        ):
            continue
        name = node.inputs[1]
        centred = _centred(view.tensor(name))
        if centred is not None:
            made[name] = made.get(name) or rewrite.add_tensor(centred)
            rewrite.replace_node(node, node.with_(inputs=(node.input, made[name], *node.inputs[2:])))
    return rewrite.finish()


def _centred(weights: Tensor) -> Tensor | None:
    """Returns the weights with zero point 0; None if they have it already, or are no constant bytes."""
    quantization = weights.quantization
    if not weights.is_constant or weights.dtype is not DType.int8 or quantization is None or not any(quantization.zero_points):
        return None
    values = centred(weights.data, quantization)
    dtype = DType.int8 if DType.int8.holds(values) else DType.int16
    return weights.with_(
        name=f"{weights.name}_centred",
        dtype=dtype,
        data=values.astype(dtype.numpy),
        quantization=replace(quantization, zero_points=(0,) * len(quantization.zero_points)),
    )
