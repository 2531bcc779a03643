# SPDX-License-Identifier: MIT
"""Inputs as the firmware has them: images with their channels last, without a copy before the network."""

from __future__ import annotations

from collections.abc import Mapping

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.format import channels_last
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.conv import Convolution
from aidge_build.operators.kinds import Broadcast, ElementWise
from aidge_build.operators.pad import Pad
from aidge_build.operators.pool import Pool
from aidge_build.operators.view import Transpose


def images_of(view: GraphView) -> tuple[str, ...]:
    """Returns the inputs with channels on axis 1: a convolution or pool reads them, directly or after scalings and pads."""
    return tuple(name for name in view.inputs if view.tensor(name).dtype is DType.float32 and _is_image(view, name))


def _is_image(view: GraphView, name: str) -> bool:
    waiting = [name]
    for tensor in waiting:
        for reader in view.consumers(tensor):
            if isinstance(reader.operator, Convolution | Pool) and reader.inputs[0] == tensor:
                return True
            if isinstance(reader.operator, ElementWise | Broadcast | Pad) and reader.output not in waiting:
                waiting.append(reader.output)
    return False


def with_channels_last(
    view: GraphView, samples: Mapping[str, numpy.ndarray]
) -> tuple[GraphView, dict[str, numpy.ndarray], tuple[str, ...]]:
    """Returns the graph that reads images with their channels last, the samples in this order, and a line for each such input."""
    rewrite, ordered, notices = Rewrite(view), dict(samples), []
    for name in images_of(view):
        tensor = view.tensor(name)
        order = channels_last(tensor.rank).order
        back = tuple(int(axis) for axis in numpy.argsort(order))
        inner = rewrite.add_tensor(Tensor(f"{name}_channels_first", tensor.dims, tensor.dtype))
        for reader in view.consumers(name):
            rewrite.replace_node(reader, reader.with_(inputs=tuple(inner if one == name else one for one in reader.inputs)))
        rewrite.append_node(Node(inner, Transpose(back), (name,), (inner,)))
        dims = tuple(tensor.dims[axis] for axis in order)
        rewrite.update_tensor(name, dims=dims)
        ordered[name] = numpy.transpose(samples[name], (0, *(axis + 1 for axis in order)))
        notices.append(f"input '{name}' is {'x'.join(map(str, dims))}, channels last")
    return rewrite.finish(), ordered, tuple(notices)
