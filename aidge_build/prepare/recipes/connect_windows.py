# SPDX-License-Identifier: MIT
"""Turns a convolution that computes one pixel of many into a fully connected layer: a layer of a stream computes a frame."""

from __future__ import annotations

import math
from dataclasses import replace

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.conv import Conv
from aidge_build.operators.matmul import FC
from aidge_build.operators.rearrange import Slice
from aidge_build.operators.view import Reshape
from aidge_build.prepare.recipes.recipe import recipe

FIRST_AXIS = 2  # of the window


@recipe(exact=False)
def connect_windows(view: GraphView) -> GraphView:
    """Conv without pads and groups, with a window as large as its input, becomes Slice (if the window is dilated, with the
    dilations as steps), Reshape, FC, Reshape. Under the contract of LiteRT only the Slice is made: its fully connected layers
    round otherwise."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        if isinstance(node.operator, Conv) and _has_one_output(view, node):
            dense = _dense(view, rewrite, node)
            stored = view.tensor(node.output).quantization
            if stored is None or stored.rounding == "onnx":
                rewrite.replace_node(node, *dense[:-1], *_connected(view, rewrite, dense[-1]))
            elif len(dense) > 1:
                rewrite.replace_node(node, *dense)
    return rewrite.finish()


def _has_one_output(view: GraphView, node: Node) -> bool:
    window, (data, weights) = node.operator.window, (view.tensor(name) for name in node.inputs[:2])
    extents = tuple(dilation * (size - 1) + 1 for dilation, size in zip(window.dilations, window.kernel))
    covers = data.dims[FIRST_AXIS:] == extents and not window.has_pads
    is_plain = node.operator.groups == 1 and weights.is_constant and not data.is_constant
    return covers and is_plain and math.prod(window.kernel) > 1  # kernels of convolutions compute a 1x1 window as well


def _dense(view: GraphView, rewrite: Rewrite, node: Node) -> tuple[Node, ...]:
    """Returns the layer without dilations, after a Slice if it has some."""
    window, data = node.operator.window, view.tensor(node.input)
    if max(window.dilations) == 1:
        return (node,)
    dims, steps = (*data.dims[:FIRST_AXIS], *window.kernel), (*(1,) * FIRST_AXIS, *window.dilations)
    taps = rewrite.add_tensor(data.with_(name=f"{data.name}_taps", dims=dims, format=None))
    cut = Node(f"{node.name}_taps", Slice((0,) * len(dims), dims, steps), (data.name,), (taps,), node.origin)
    dense = replace(node.operator, window=replace(window, dilations=(1,) * window.rank))
    return cut, node.with_(operator=dense, inputs=(taps, *node.inputs[1:]))


def _connected(view: GraphView, rewrite: Rewrite, node: Node) -> tuple[Node, ...]:
    operator, (data, weights) = node.operator, (rewrite.tensors[name] for name in node.inputs[:2])
    result = view.tensor(node.output)
    rows, columns = weights.dims[0], math.prod(weights.dims[1:])
    flat = rewrite.add_tensor(data.with_(name=f"{data.name}_flat", dims=(data.dims[0], columns), format=None))
    sums = rewrite.add_tensor(result.with_(name=f"{result.name}_flat", dims=(data.dims[0], rows), format=None))
    matrix = rewrite.add_tensor(
        weights.with_(name=f"{weights.name}_flat", dims=(rows, columns), data=weights.data.reshape(rows, columns), format=None)
    )
    connected = FC(minimum=operator.minimum, maximum=operator.maximum)
    return (
        Node(f"{node.name}_flat", Reshape((data.dims[0], columns)), (data.name,), (flat,), node.origin),
        Node(node.name, connected, (flat, matrix, *node.inputs[2:]), (sums,), node.origin),
        Node(f"{node.name}_pixel", Reshape(result.dims), (sums,), (result.name,), node.origin),
    )
