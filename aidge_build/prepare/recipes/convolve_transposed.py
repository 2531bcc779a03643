# SPDX-License-Identifier: MIT
"""Turns a transposed convolution with strides 1 into a convolution with its taps in the other order."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.conv import Conv, is_depthwise
from aidge_build.operators.conv_transpose import ConvTranspose
from aidge_build.operators.window import Window
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=False)
def convolve_transposed(view: GraphView) -> GraphView:
    """ConvTranspose of float32 with strides 1 and constant weights becomes Conv with the same dilations and groups."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        if not isinstance(node.operator, ConvTranspose) or set(node.operator.strides) != {1}:
            continue
        data, weights, *_ = view.input_tensors(node)
        window = _window(node.operator, data.dims[2:])
        if window is None or not weights.is_constant or {data.dtype, weights.dtype} != {DType.float32}:
            continue
        name = rewrite.add_tensor(constant(f"{weights.name}_turned", _turned(weights.data, node.operator.groups)))
        groups = node.operator.groups
        depthwise = is_depthwise(groups, weights.dims[0], weights.dims[1] * groups)
        rewrite.replace_node(node, _as_convolution(node, window, name, depthwise))
    return rewrite.finish()


def _as_convolution(node: Node, window: Window, weights: str, depthwise: bool) -> Node:
    old = node.operator
    operator = Conv(window=window, groups=old.groups, depthwise=depthwise, minimum=old.minimum, maximum=old.maximum)
    return node.with_(operator=operator, inputs=(node.input, weights, *node.inputs[2:]))


def _window(operator: ConvTranspose, sizes: tuple[int, ...]) -> Window | None:
    """Returns the window with an output of the same size: a pad is the reach of the taps less the transposed pad."""
    reach = [dilation * (taps - 1) for taps, dilation in zip(operator.kernel, operator.dilations)]
    begin = tuple(far - pad for far, pad in zip(reach, operator.pads_begin))
    end = tuple(made + far - size - first for made, far, size, first in zip(operator.spatial, reach, sizes, begin))
    if min(*begin, *end) < 0:
        return None
    return Window(operator.kernel, operator.strides, operator.dilations, begin, end, False)


def _turned(weights: numpy.ndarray, groups: int) -> numpy.ndarray:
    """Returns weights [C, M / groups, kernel...] as [M, C / groups, kernel...] with the taps from the last to the first."""
    channels, made, *kernel = weights.shape
    grouped = weights.reshape(groups, channels // groups, made, *kernel).swapaxes(1, 2)
    turned = numpy.flip(grouped, tuple(range(3, grouped.ndim)))
    return numpy.ascontiguousarray(turned.reshape(groups * made, channels // groups, *kernel))
