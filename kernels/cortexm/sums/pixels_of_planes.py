# SPDX-License-Identifier: MIT
"""The copy of a picture's bytes from three planes to pixels of three channels, four pixels at a time."""

from __future__ import annotations

import math

from aidge_build.contract.call import Call, Input, Literal, Output
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import channels_last, row_major

from ..core.conditions import FEATURES

CHANNELS = 3


def _other_orders(view: NodeView) -> str:
    (source,), (target,) = view.inputs, view.outputs
    if source.rank < 3 or source.orders != (row_major(source.rank),) or target.orders != (channels_last(source.rank),):
        return "not from row-major to channels last"
    return "" if source.dims[1] == CHANNELS else f"{source.dims[1]} channels"


def _spec(dtype: DType) -> ImplSpec:
    return ImplSpec(
        inputs=(IOSpec(dtype, ANY),),
        outputs=(IOSpec(dtype, ANY),),
        features=FEATURES,
        predicates=(Predicate("three planes to pixels", _other_orders),),
    )


@kernel("Reformat", [_spec(dtype) for dtype in (DType.int8, DType.uint8)])
class PixelsOfPlanes(KernelNode):
    def call(self) -> Call:
        images, _, *spatial = self.inputs[0].dims
        arguments = (Input(0), Output(0), Literal(images), Literal(math.prod(spatial)))
        return Call("aidge_cortexm_pixels_of_planes", ("sums/pixels_of_planes.h",), arguments, note="4 pixels")
