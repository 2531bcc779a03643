# SPDX-License-Identifier: MIT
"""Which layers have weights of int16 in flash, which take no unpacking: 11 instructions for 16 products instead of 12.

What a byte of flash saves grows with the pixels that each weight meets, so layers of many pixels come first, as long as they all
together take little of what the weights of the graph take.
"""

from __future__ import annotations

from aidge_build.contract.spec import NodeView
from aidge_build.graph.dtype import DType

from ..sums.packed_sums import need_offsets
from .conditions import has_fpu

FEWEST_PIXELS = 512  # of a layer: two dozen instructions of an inference for a byte
MOST_WEIGHTS = 1024  # of a layer: where there are more, its text is long, too
_PARTS = {"speed": 4, "balanced": 16}  # one part in so many of the weights may be added to them


def are_halfwords(view: NodeView) -> bool:
    """Whether this dense layer's weights are, or a band's. Chips without an FPU have little flash: there they are bytes."""
    view = view.layer.whole if view.layer else view
    if view.objective not in _PARTS or not has_fpu(view) or not _is_fit(view):
        return False
    if view.graph is None:
        return True
    layers = [layer for layer in (NodeView.of(view.graph, node) for node in view.graph.nodes) if _has_weights(layer)]
    left = sum(_weights(layer) for layer in layers) // _PARTS[view.objective]
    for layer in sorted(filter(_is_fit, layers), key=lambda layer: (-_pixels(layer), _weights(layer), layer.node.name)):
        left -= _weights(layer)
        if left < 0 or layer.node.name == view.node.name:
            break
    return left >= 0


def _has_weights(view: NodeView) -> bool:
    return len(view.inputs) > 1 and view.inputs[1] is not None and view.inputs[1].is_constant


def _is_fit(view: NodeView) -> bool:
    """Whether it is a dense layer of few weights that meet many pixels."""
    return (
        view.node.type in ("Conv1D", "Conv2D")
        and view.operator.groups == 1
        and (view.inputs[1].dtype is DType.int8 or need_offsets(view))
        and _weights(view) <= MOST_WEIGHTS
        and _pixels(view) >= FEWEST_PIXELS
    )


def _weights(view: NodeView) -> int:
    return view.inputs[1].elements


def _pixels(view: NodeView) -> int:
    output = view.outputs[0]
    return output.elements // output.dims[1]
