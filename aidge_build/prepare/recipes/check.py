# SPDX-License-Identifier: MIT
"""Checks the result of every rewrite: types follow from the operators, quantization agrees, the signature is the same.

A rewrite changes no tensor under its old name: dims, type, values of a constant and quantization stay. Three changes are allowed:
a computed tensor gets the quantization that its neighbours state, a uint8 tensor becomes int8 with its zero point 128 lower, and
channels are left out if the tensor says so (`Tensor.kept`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy

from aidge_build.base.debug import level
from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.evaluate import is_quantized, reads_reals
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.base import TensorType
from aidge_build.operators.flip_sign import SHIFT, flipped
from aidge_build.operators.linear import LinearQuantized
from aidge_build.operators.quantize import DequantizeLinear, QuantizeLinear
from aidge_build.operators.restated import Restated
from aidge_build.prepare.recipes.meaning import require_same_meaning
from aidge_build.prepare.recipes.quantize_constants import linear_quantization
from aidge_build.prepare.recipes.quantize_islands import accepts_linear, selects
from aidge_build.prepare.recipes.recipe import Recipe

FORWARD = 5  # the level of AIDGE_DEBUG from which on both graphs are computed, too


def checked(rewrite: Callable[[GraphView], GraphView], view: GraphView) -> GraphView:
    """Returns the rewritten graph; AidgeError (code GRAPH) names the rewrite and the node if a promise is broken."""
    known = rewrite if isinstance(rewrite, Recipe) else Recipe(rewrite, exact=False)
    with numpy.errstate(all="ignore"):  # overflow to infinity and NaN are results, not accidents
        made = known(view)
    return check_rewrite(view, made, known.name, exact=known.exact)


def check_rewrite(before: GraphView, after: GraphView, step: str, *, exact: bool = False) -> GraphView:
    """Compares a graph with the graph that `step` made of it, new nodes and tensors only. Returns `after`."""
    if after is before:
        return after
    _check_signature(before, after, step)
    check_graph(after, step, before)
    for name, tensor in after.tensors.items():
        old = before.tensors.get(name)
        if old is not None and old is not tensor:
            _check_kept(before, old, tensor, step)
    if level() >= FORWARD:
        require_same_meaning(before, after, step, exact=exact)
    return after


def check_graph(view: GraphView, step: str, before: GraphView | None = None) -> None:
    """Checks that every node has a unique name, and that its outputs and their quantization follow from operator and inputs.

    Nodes of `before` with the same tensors, perhaps in another format, are not checked again.
    """
    names: set[str] = set()
    known = set(view.inputs)
    old = {} if before is None else {node.name: node for node in before.nodes}
    for node in view.nodes:
        if node.name in names:
            raise broken(step, "two nodes have its name", node)
        names.add(node.name)
        _check_order(view, node, known, step)
        known.update(node.outputs)
        if before is None or old.get(node.name) is not node or not _has_alike_tensors(node, view, before):
            _check_types(view, node, step)
            _check_quantization(view, node, step)
    for name in view.outputs:
        if name not in known and not view.tensors[name].is_constant:
            raise broken(step, f"nothing computes the graph output '{name}'")
    for name, tensor in view.tensors.items():
        if before is None or before.tensors.get(name) is not tensor:
            _check_tensor(tensor, step)


def _check_order(view: GraphView, node: Node, known: Collection[str], step: str) -> None:
    """Checks that the node reads only tensors that are known before it, and writes only new tensors."""
    for name in node.inputs:
        if name and name not in known and not view.tensors[name].is_constant:
            raise broken(step, f"it reads '{name}', which nothing computes before", node)
    for name in node.outputs:
        if name in known or view.tensors[name].is_constant:
            raise broken(step, f"its output '{name}' is there already", node)


def _has_alike_tensors(node: Node, view: GraphView, before: GraphView) -> bool:
    return all(_is_alike(view.tensors[name], before.tensors[name]) for name in (*node.inputs, *node.outputs) if name)


def _is_alike(one: Tensor, other: Tensor) -> bool:
    """Whether both tensors are the same for operators: only their storage orders may differ."""
    return one is other or (one.dims, one.dtype, one.quantization) == (other.dims, other.dtype, other.quantization)


def _check_signature(before: GraphView, after: GraphView, step: str) -> None:
    for side, old, new in (("inputs", before.inputs, after.inputs), ("outputs", before.outputs, after.outputs)):
        if old != new:
            raise broken(step, f"the graph's {side} are {', '.join(new)}, they were {', '.join(old)}")
        for name in old:
            was, is_now = before.tensor(name), after.tensor(name)
            if (was.dims, was.dtype, was.removed_channels) != (is_now.dims, is_now.dtype, is_now.removed_channels):
                raise broken(step, f"'{name}' of the graph's {side} is {is_now}, it was {was}")
            if was.names != is_now.names:
                raise broken(step, f"'{name}' of the graph's {side} has other names for its elements")


def _check_types(view: GraphView, node: Node, step: str) -> None:
    """Infers the outputs' dims and types and compares them."""
    inputs, outputs = view.input_tensors(node), view.output_tensors(node)
    reason = ""
    for way in _meanings(view, node):
        try:
            found = list(node.operator.infer([tensor and way(tensor) for tensor in inputs]))
        except Exception as error:  # of an operator with unexpected inputs: a wrong number of them, for example
            reason = reason or f"{node.operator} refuses its inputs: {error or type(error).__name__}"
            continue
        expected = [TensorType(made.dims, made.dtype) for made in map(way, outputs)]
        if found == expected:
            return
        if len(found) != len(outputs):
            raise broken(step, f"it has {len(outputs)} outputs, its operator makes {len(found)}", node)
        index = next(index for index, pair in enumerate(zip(found, expected, strict=True)) if pair[0] != pair[1])
        reason = reason or (
            f"its output '{node.outputs[index]}' is {_shown(expected[index])}, "
            f"but {node.operator} makes {_shown(found[index])} of its inputs"
        )
    raise broken(step, reason, node)


def _meanings(view: GraphView, node: Node) -> list[Callable[[Tensor], Tensor]]:
    """Returns the possible meanings of a node's tensors: real values if they are quantized, or else the stored values."""
    inputs, outputs = view.input_tensors(node), view.output_tensors(node)
    ways: list[Callable[[Tensor], Tensor]] = [lambda tensor: tensor]
    if view.has_quantization and any(tensor is not None and tensor.quantization is not None for tensor in (*inputs, *outputs)):
        ways.insert(0, _real if reads_reals(node.operator, inputs, outputs) else _real_constant)
    return ways


def _shown(kind: TensorType) -> str:
    return f"{kind.dtype.name}{list(kind.dims)}"


def _real(tensor: Tensor) -> Tensor:
    return tensor if tensor.quantization is None else tensor.with_(dtype=DType.float32)


def _real_constant(tensor: Tensor) -> Tensor:
    """Returns a constant as readers that compute in float see it (`dequantize_constants`)."""
    return _real(tensor) if tensor.is_constant else tensor


def _check_quantization(view: GraphView, node: Node, step: str) -> None:
    inputs, outputs = view.input_tensors(node), view.output_tensors(node)
    if isinstance(node.operator, QuantizeLinear | DequantizeLinear):
        _check_stated(view, node, step)
        return
    if node.operator.hands_on and not isinstance(node.operator, Restated) and not inputs[0].is_constant:
        for tensor in outputs:
            if (tensor.quantization is None) != (inputs[0].quantization is None):
                raise broken(
                    step,
                    f"it hands on stored values, but '{tensor.name}' has {_numbers(tensor.quantization)} "
                    f"and '{inputs[0].name}' has {_numbers(inputs[0].quantization)}",
                    node,
                )
    if not is_quantized(inputs, outputs):
        return
    if (node.operator.views or node.operator.moves) and not isinstance(node.operator, Restated):
        for tensor in outputs:
            if tensor.quantization != inputs[0].quantization or tensor.dtype is not inputs[0].dtype:
                raise broken(
                    step,
                    f"it hands on stored values, but '{tensor.name}' is {tensor.dtype.name} with {_numbers(tensor.quantization)} "
                    f"and '{inputs[0].name}' {inputs[0].dtype.name} with {_numbers(inputs[0].quantization)}",
                    node,
                )
    if isinstance(node.operator, LinearQuantized):
        _check_products(inputs, node, step)


def _check_stated(view: GraphView, node: Node, step: str) -> None:
    """Checks that the stored tensor of a QuantizeLinear or DequantizeLinear has the node's quantization."""
    tensors = view.output_tensors(node) if isinstance(node.operator, QuantizeLinear) else view.input_tensors(node)
    tensor, stated = tensors[0], linear_quantization(view, node)
    if tensor.quantization is not None and stated is not None and tensor.quantization != stated:
        raise broken(step, f"'{tensor.name}' has {_numbers(tensor.quantization)}, the node states {_numbers(stated)}", node)


def _check_products(inputs: Sequence[Tensor | None], node: Node, step: str) -> None:
    given = [tensor for tensor in inputs if tensor is not None]
    if any(tensor.quantization is None for tensor in given) or not accepts_linear(list(inputs)):
        shown = "; ".join(f"'{tensor.name}' has {_numbers(tensor.quantization)}" for tensor in given)
        raise broken(step, f"data, weights and bias (int32, scale of data * weights, zero point 0) do not fit: {shown}", node)


def _check_tensor(tensor: Tensor, step: str) -> None:
    if tensor.data is not None and (tensor.data.shape != tensor.dims or tensor.data.dtype != tensor.dtype.numpy):
        raise broken(step, f"'{tensor.name}' is {tensor}, its values are {tensor.data.dtype}{list(tensor.data.shape)}")
    if tensor.format is not None and sorted(tensor.format.order) != list(range(tensor.rank)):
        raise broken(step, f"'{tensor.name}' has the dims {list(tensor.dims)} in the format {tensor.format}")
    quantization = tensor.quantization
    if quantization is None:
        return
    if tensor.dtype.is_float:
        raise broken(step, f"'{tensor.name}' is {tensor.dtype.name} and has {_numbers(quantization)}")
    low, high = tensor.dtype.range
    if any(not low <= point <= high for point in quantization.zero_points):
        raise broken(step, f"'{tensor.name}' is {tensor.dtype.name} and has {_numbers(quantization)}")
    axis = quantization.axis
    if axis is not None and (axis >= tensor.rank or tensor.dims[axis] != len(quantization.scales)):
        raise broken(
            step, f"'{tensor.name}' has the dims {list(tensor.dims)} and {len(quantization.scales)} scales on axis {axis}"
        )


def _check_kept(before: GraphView, old: Tensor, new: Tensor, step: str) -> None:
    """Checks a tensor that keeps its name: see the head of this file."""
    shifted = old.quantization is not None and (old.dtype, new.dtype) == (DType.uint8, DType.int8)
    if old.dtype is not new.dtype and not shifted:
        raise broken(step, f"'{old.name}' became {new.dtype.name}, it was {old.dtype.name}")
    dims = old.dims
    if new.kept is not None and new.kept != old.kept:
        dims = (old.dims[0], len(new.kept.channels), *old.dims[2:])
    if new.dims != dims:
        raise broken(step, f"'{old.name}' has the dims {list(new.dims)}, it had {list(old.dims)}")
    _check_kept_quantization(before, old, new, SHIFT if shifted else 0, step)
    if old.data is not None and new.data is not None and old.data is not new.data:
        if not numpy.array_equal(flipped(old.data) if shifted else old.data, new.data, equal_nan=not shifted):
            raise broken(step, f"the constant '{old.name}' has other values than before")


def _check_kept_quantization(before: GraphView, old: Tensor, new: Tensor, shift: int, step: str) -> None:
    if old.quantization is not None:
        points = tuple(point - shift for point in old.quantization.zero_points)
        if new.quantization != replace(old.quantization, zero_points=points):
            raise broken(step, f"'{old.name}' has {_numbers(new.quantization)}, it had {_numbers(old.quantization)}")
    elif new.quantization is not None and new.quantization not in _stated(before, old.name):
        raise broken(step, f"'{old.name}' got {_numbers(new.quantization)}, which no operator around it states")


def _stated(view: GraphView, name: str) -> list[Quantization]:
    """Returns what QuantizeLinear and DequantizeLinear state for a tensor and for selections of its elements."""
    found, seen, waiting = [], {name}, [name]
    while waiting:
        tensor = waiting.pop()
        producer = view.producer(tensor)
        for node in (*view.consumers(tensor), *([producer] if producer else ())):
            if isinstance(node.operator, DequantizeLinear) and node.input == tensor:
                found.append(linear_quantization(view, node))
            elif isinstance(node.operator, QuantizeLinear) and node.output == tensor:
                found.append(linear_quantization(view, node))
            elif selects(node):
                more = [other for other in (node.input, *node.outputs) if other not in seen]
                seen.update(more)
                waiting += more
    return [quantization for quantization in found if quantization is not None]


def _numbers(quantization: Quantization | None) -> str:
    if quantization is None:
        return "no quantization"
    if quantization.per_tensor:
        return f"scale {quantization.scale} zero point {quantization.zero_point}"
    first = f"from {quantization.scales[0]} and {quantization.zero_points[0]} on"
    return f"{len(quantization.scales)} scales and zero points on axis {quantization.axis} ({first})"


def broken(step: str, what: str, node: Node | None = None) -> AidgeError:
    """Returns the error about a wrong graph of `step`, so that it never becomes C."""
    return AidgeError(
        what,
        where=f"graph after {step}" + (f", {node.where()}" if node is not None else ""),
        code="GRAPH",
        hint=f"{step} is at fault, not the model; AIDGE_DEBUG=2 prints the graph before and after it",
    )
