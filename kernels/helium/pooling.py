# SPDX-License-Identifier: MIT
"""What the pools share: the window of an operator that may be one over the whole map, and its struct in C."""

from __future__ import annotations

import math

from aidge_build.arithmetic.requantize import clamp_levels
from aidge_build.backend.spec import CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.export.call import Struct
from aidge_build.export.conditions import ALL_QUANTIZED
from aidge_build.graph.dtype import DType
from aidge_build.operators.window import Window

from .conditions import MVE
from .geometry import Geometry, geometry_of


def pool_spec(*predicates: Predicate) -> ImplSpec:
    """int8, channels last."""
    return ImplSpec(inputs=(IOSpec(DType.int8, CHANNELS_LAST),), outputs=(IOSpec(DType.int8, CHANNELS_LAST),), features=MVE,
                    predicates=(ALL_QUANTIZED, *predicates))


def pool_geometry(view: NodeView) -> Geometry:
    """With channels last the spatial axes of a global pool lie together: they are one."""
    data, output = view.inputs[0], view.outputs[0]
    if hasattr(view.operator, "window"):
        return geometry_of(data, output, view.operator.window)
    length = math.prod(data.dims[2:])
    row, point = (tensor.with_(dims=(*tensor.dims[:2], size), format=None) for tensor, size in ((data, length), (output, 1)))
    return geometry_of(row, point, Window((length,), (1,), (1,), (0,), (0,)))


def pool_struct(shape: Geometry) -> Struct:
    """The struct of ref/window2d.h."""
    return Struct("aidge_ref_window2d", {
        "batches": shape.batches, "in_height": shape.in_height, "in_width": shape.in_width, "in_channels": shape.channels,
        "out_height": shape.out_height, "out_width": shape.out_width, "out_channels": shape.outputs,
        "kernel_height": shape.kernel_height, "kernel_width": shape.kernel_width, "stride_height": shape.stride_height,
        "stride_width": shape.stride_width, "dilation_height": shape.dilation_height, "dilation_width": shape.dilation_width,
        "pad_top": shape.top, "pad_left": shape.left, "groups": 1})


def pool_levels(view: NodeView) -> tuple[int, int]:
    """Lowest and highest stored value of the output."""
    (output,) = view.outputs
    return clamp_levels(view.operator.minimum, view.operator.maximum, output.quantization, output.dtype)
