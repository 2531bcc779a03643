# SPDX-License-Identifier: MIT
"""Splits layers into groups of output channels: one layer for each group, with the same inputs, and a concatenation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.base import Group
from aidge_build.operators.rearrange import Concat, Slice

GROUP = "_group_"  # in names, before the number


def split_outputs(view: GraphView, channels: Mapping[str, int]) -> GraphView:
    """Returns the graph in which each node named in `channels` computes at most so many channels at a time, with the same bits.

    Each channel is computed as before: a group reads the whole input, or a copy of the channels that it needs, and its own part
    of the constants.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        if node.name in channels and group_of(view, node, channels[node.name]) is not None:
            _split(view, rewrite, node, channels[node.name])
    return rewrite.finish()


def group_of(view: GraphView, node: Node, channels: int) -> Group | None:
    """Returns the group that computes so many of the node's channels; None if its channels depend on each other."""
    inputs, outputs = view.input_tensors(node), view.output_tensors(node)
    group = node.operator.group(inputs, outputs, channels)
    if group is None or len(outputs) != 1:
        return None
    parted = [tensor for tensor, axis in zip(inputs, group.axes, strict=True) if tensor is not None and axis is not None]
    moving = [tensor for tensor in (*parted, *outputs) if not tensor.is_constant]
    return group if all(tensor.quantization is None or tensor.quantization.per_tensor for tensor in moving) else None


def _split(view: GraphView, rewrite: Rewrite, node: Node, most: int) -> None:
    (output,), inputs = view.output_tensors(node), view.input_tensors(node)
    whole = group_of(view, node, most)
    assert whole is not None
    axis_of_output, count = whole.axis, output.dims[whole.axis]
    parts: list[str] = []
    nodes: list[Node] = []
    for number, first in enumerate(range(0, count, most), 1):
        last = min(first + most, count)
        group = group_of(view, node, last - first)
        assert group is not None
        names = list(node.inputs)
        for position, (tensor, axis) in enumerate(zip(inputs, group.axes, strict=True)):
            if tensor is None or axis is None:
                continue
            names[position] = rewrite.add_tensor(_some(tensor, axis, first, last, number))
            if not tensor.is_constant:
                cut = _slice(tensor, axis, first, last)
                name = f"{node.name}{GROUP}{number}_input"
                nodes.append(Node(name, cut, (tensor.name,), (names[position],), node.origin))
        dims = (*output.dims[:axis_of_output], last - first, *output.dims[axis_of_output + 1 :])
        parts.append(rewrite.add_tensor(output.with_(name=f"{output.name}{GROUP}{number}", dims=dims)))
        nodes.append(Node(f"{node.name}{GROUP}{number}", group.operator, tuple(names), (parts[-1],), node.origin))
    joined = Node(f"{node.name}_groups", Concat(axis_of_output), tuple(parts), node.outputs, node.origin)
    rewrite.replace_node(node, *nodes, joined)


def _some(tensor: Tensor, axis: int, first: int, last: int, number: int) -> Tensor:
    """Returns the elements `[first, last)` along an axis, with their scales."""
    place = (slice(None),) * axis + (slice(first, last),)
    quantization = tensor.quantization
    return tensor.with_(
        name=f"{tensor.name}{GROUP}{number}",
        dims=(*tensor.dims[:axis], last - first, *tensor.dims[axis + 1 :]),
        data=None if tensor.data is None else tensor.data[place],
        quantization=_scales(quantization, first, last) if quantization and quantization.axis == axis else quantization,
    )


def _slice(tensor: Tensor, axis: int, first: int, last: int) -> Slice:
    starts, counts = [0] * tensor.rank, list(tensor.dims)
    starts[axis], counts[axis] = first, last - first
    return Slice(starts=tuple(starts), counts=tuple(counts), steps=(1,) * tensor.rank)


def _scales(quantization: Quantization, first: int, last: int) -> Quantization:
    return replace(quantization, scales=quantization.scales[first:last], zero_points=quantization.zero_points[first:last])
