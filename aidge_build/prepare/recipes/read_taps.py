# SPDX-License-Identifier: MIT
"""Takes the gaps out of a dilated convolution that has one output: its taps become neighbours."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.conv import Conv
from aidge_build.operators.rearrange import Slice
from aidge_build.prepare.recipes.recipe import recipe

FIRST_AXIS = 2  # of the window


@recipe(exact=False)
def read_taps(view: GraphView) -> GraphView:
    """A Conv with a window as large as its input, without pads, (a layer of a stream computes one frame) reads a Slice with the
    dilations as steps. The layer is then a fully connected one. A depthwise Conv stays: it reads each element once."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        if not isinstance(node.operator, Conv) or not _has_one_output(view, node):
            continue
        window, data = node.operator.window, view.tensor(node.input)
        dims, ones = (*data.dims[:FIRST_AXIS], *window.kernel), (1,) * FIRST_AXIS
        taps = rewrite.add_tensor(data.with_(name=f"{data.name}_taps", dims=dims, format=None))
        cut = Node(
            f"{node.name}_taps", Slice((0,) * len(dims), dims, (*ones, *window.dilations)), (data.name,), (taps,), node.origin
        )
        dense = replace(node.operator, window=replace(window, dilations=(1,) * window.rank))
        rewrite.replace_node(node, cut, node.with_(operator=dense, inputs=(taps, *node.inputs[1:])))
    return rewrite.finish()


def _has_one_output(view: GraphView, node: Node) -> bool:
    window, data = node.operator.window, view.tensor(node.input)
    extents = tuple(dilation * (size - 1) + 1 for dilation, size in zip(window.dilations, window.kernel))
    covers = data.dims[FIRST_AXIS:] == extents and not window.has_pads
    return covers and max(window.dilations) > 1 and not node.operator.depthwise and not data.is_constant
