# SPDX-License-Identifier: MIT
"""Which depthwise layers have weights of bytes in flash, though halfwords would be quicker: under --optimize balanced as many as
cost less than a thousandth of an inference to unpack, those with the most channels first."""

from __future__ import annotations

from aidge_build.contract.spec import NodeView
from aidge_build.graph.dtype import DType

from .conditions import has_fpu
from .depthwise_layout import Depthwise, depthwise_of
from .window import plane_of_view

MACS = 1100  # of the graph for an instruction: it takes about one for each
FEWEST_CHANNELS = 16  # whose weights are more than the text that unpacks them


def are_pairs(view: NodeView) -> bool:
    """Whether this layer is one of them; never where it is computed in bands of a cascade, each of which would unpack anew."""
    if view.objective != "balanced" or not has_fpu(view) or view.graph is None or view.layer or not _is_fit(view):
        return False
    nodes = [NodeView.of(view.graph, node) for node in view.graph.nodes]
    left = sum(node.multiply_accumulates for node in nodes) // MACS
    for layer in sorted(filter(_is_fit, nodes), key=lambda layer: (-layer.inputs[0].dims[1], layer.node.name)):
        left -= _instructions(layer)
        if left < 0 or layer.node.name == view.node.name:
            break
    return left >= 0


def _is_fit(view: NodeView) -> bool:
    """Whether it is a depthwise layer whose weights fit registers: unpacking them takes no memory."""
    return (
        view.node.type in ("ConvDepthWise1D", "ConvDepthWise2D")
        and view.inputs[1].is_constant
        and view.inputs[1].dtype is DType.int8
        and view.inputs[0].dims[1] >= FEWEST_CHANNELS
        and _layer(view).in_registers
    )


def _instructions(view: NodeView) -> int:
    """To unpack all channels once in each band."""
    layer = _layer(view)
    bands = -(-layer.plane.out_size[0] // layer.band)
    return layer.plane.batches * bands * layer.plane.in_channels * (layer.weight_words + 1)


def _layer(view: NodeView) -> Depthwise:
    return depthwise_of(plane_of_view(view, is_upright=True))
