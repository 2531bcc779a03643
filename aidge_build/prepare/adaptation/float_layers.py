# SPDX-License-Identifier: MIT
"""Notices about layers that compute in float32 next to stored values: which layers, why, and the cost."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.base.naming import counted
from aidge_build.contract.length import length_of
from aidge_build.contract.library import Library
from aidge_build.graph.dtype import DType
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.batchnorm import BatchNormalization
from aidge_build.operators.binary import Add, Div, Mul, Sub
from aidge_build.operators.cast import Cast
from aidge_build.operators.conv import Convolution
from aidge_build.operators.dynamic import DynamicLayer
from aidge_build.operators.matmul import FC
from aidge_build.prepare.adaptation.assignment import Assignment
from aidge_build.prepare.adaptation.cost_of_flags import SOFT_FLOAT
from aidge_build.prepare.adaptation.match import Target
from aidge_build.prepare.adaptation.slow_layers import named
from aidge_build.prepare.recipes.name_levels import levels

_STAYING = ("Reformat", "Identity")
_NORMALIZING = (Add, Sub, Mul, Div, BatchNormalization)
_WIDE = "{} has more than 256 values: an input of 8 bits makes a table of them"
_BOOL = "bool is no number of 8 bits: an input of uint8 makes a table of its values"
_NARROW = "integers do not give all 256 values of each channel the same results: an input quantized as the first layer needs none"


def missing_quantization(assignment: Assignment, libraries: Sequence[Library], target: Target) -> tuple[str, ...]:
    """Returns one line that names the layers, and the operators after which QuantizeLinear and DequantizeLinear are missing; or
    nothing.

    A layer computes in float32, whatever its weights are, if its data come from stored values only, but through an operator
    without a stored result (a sum, an average, a concatenation of several scales).
    """
    view, behind, macs = assignment.view, dict[str, list[str]](), 0
    for node in view.nodes:
        if not isinstance(node.operator, Convolution | FC) or assignment.choices[node.name].kernel is None:
            continue
        seen = assignment.node_view(node)
        if seen.inputs[0].dtype is not DType.float32 or levels(seen.inputs[1]) is None:
            continue
        last = _without_copies(view, node.inputs[0])
        if last is not None and last.type != "DequantizeLinear" and _comes_from_stored(view, last):
            behind.setdefault(last.name, []).append(node.name)
            macs += seen.multiply_accumulates
    if not behind:
        return ()
    layers = [name for names in behind.values() for name in names]
    count = counted(len(layers), "layer", "computes")
    return (
        f"{count} in float32, although the weights and the sources of the data are quantized: {named(layers)}; add "
        f"QuantizeLinear and DequantizeLinear after {named(list(behind))}{_cost(macs, libraries, target)}",
    )


def float_normalizations(assignment: Assignment, libraries: Sequence[Library]) -> tuple[str, ...]:
    """Returns one line for each chain of layers that normalises integers in float32: the layers, their cost, and the reason."""
    view, lines = assignment.view, []
    for node in view.nodes:
        chain = _normalization(view, node) if node.type == "QuantizeLinear" else []
        if not chain:
            continue
        source, count = view.tensor(chain[0].inputs[0]).dtype, 0
        for one in chain:
            kernel = assignment.choices[one.name].kernel
            if kernel is not None:
                lengths = next((library.lengths for library in libraries if library.name == kernel.library), ())
                count += length_of(lengths, kernel.name, assignment.node_view(one))
        why = {DType.int8: _NARROW, DType.uint8: _NARROW, DType.bool: _BOOL}.get(source, _WIDE.format(source.name))
        names = named([one.name for one in chain if one.type not in _STAYING])
        lines.append(f"{source.name} values are normalised in float32: {names}; up to about {count:,} instructions; {why}")
    return tuple(lines)


def _normalization(view: GraphView, last: Node) -> list[Node]:
    """Returns the nodes from a Cast of integers, or a DequantizeLinear, to the QuantizeLinear `last`; or nothing."""
    found, node = [last], view.producer(last.inputs[0])
    while node is not None:
        found.append(node)
        (data, *others) = view.input_tensors(node)
        if isinstance(node.operator, Cast) or node.type == "DequantizeLinear":
            return found[::-1] if not data.dtype.is_float and len(found) > 2 else []
        computed = [tensor.name for tensor in (data, *others) if tensor is not None and not tensor.is_constant]
        is_normalizing = isinstance(node.operator, _NORMALIZING) or node.operator.views or node.type in _STAYING
        node = view.producer(*computed) if is_normalizing and len(computed) == 1 else None
    return []


def _without_copies(view: GraphView, name: str) -> Node | None:
    node = view.producer(name)
    while node is not None and (node.operator.views or node.type in _STAYING):
        node = view.producer(node.inputs[0])
    return node


def _comes_from_stored(view: GraphView, last: Node) -> bool:
    """Whether all floats that the node is computed from come from a DequantizeLinear, a table or a layer of bytes."""
    followed, found = set(last.outputs), False
    for node in reversed(view.nodes):
        if followed.isdisjoint(node.outputs):
            continue
        if _reads_stored(view, node):
            found = True
        elif isinstance(node.operator, Convolution | FC):
            return False  # that layer is named instead, if it is such a layer
        else:
            read = [tensor for tensor in view.input_tensors(node) if tensor is not None and not tensor.is_constant]
            floats = [tensor.name for tensor in read if tensor.dtype is DType.float32]
            if any(view.producer(name) is None for name in floats):
                return False
            followed.update(floats)
    return found


def _reads_stored(view: GraphView, node: Node) -> bool:
    data = view.input_tensors(node)[:1]
    is_table = any(tensor is not None and tensor.quantization is not None for tensor in data)
    return is_table or node.type == "DequantizeLinear" or isinstance(node.operator, DynamicLayer)


def _cost(macs: int, libraries: Sequence[Library], target: Target) -> str:
    """Returns the cost by the figures that libraries state about themselves; "" if none does."""
    kind = "float32" if "fpu" in target.features else SOFT_FLOAT
    real = next((library.per_mac[kind] for library in libraries if kind in library.per_mac), 0.0)
    stored = next((library.per_mac["int8"] for library in libraries if "int8" in library.per_mac), 0.0)
    if not macs or not stored or not real:
        return ""
    return f"; about {macs * real:,.0f} instead of {macs * stored:,.0f} instructions, and weights four times as large"
