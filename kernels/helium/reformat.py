# SPDX-License-Identifier: MIT
"""The copy of a tensor of bytes or words from planes of channels to pixels of all channels, or back, by gathers and scatters."""

from __future__ import annotations

import math

from aidge_build.contract.call import Call, Input, Literal, Output, computed
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import channels_last, row_major

from .conditions import MVE

MOST_CHANNELS = 9362  # whose 8 pixels lie within 16 bits


def _other_orders(view: NodeView) -> str:
    (source,), (target,) = view.inputs, view.outputs
    orders = {row_major(source.rank), channels_last(source.rank)}
    known = len(source.orders) == len(target.orders) == 1
    if source.rank < 3 or not known or {*source.orders, *target.orders} != orders:
        return "not between row-major and channels last"
    return "" if source.dims[1] <= MOST_CHANNELS else f"{source.dims[1]} channels"


def _spec(dtype: DType) -> ImplSpec:
    return ImplSpec(
        inputs=(IOSpec(dtype, ANY),),
        outputs=(IOSpec(dtype, ANY),),
        features=MVE,
        predicates=(Predicate("between row-major and channels last", _other_orders),),
    )


class _Reformat(KernelNode):
    def call(self) -> Call:
        batches, channels, *spatial = self.inputs[0].dims
        to_planes = self.outputs[0].storage == row_major(self.outputs[0].rank)
        numbers = (batches, channels, math.prod(spatial), int(to_planes))
        is_bytes = self.inputs[0].dtype.size_bytes == 1
        together = 4 if not is_bytes else 16 if channels <= 17 else 8
        return Call(
            "aidge_helium_reformat" if is_bytes else "aidge_helium_reformat_words",
            ("reformat.h" if is_bytes else "reformat_words.h",),
            (Input(0), Output(0), *map(Literal, numbers)),
            facts=computed(f"{together} values"),
        )


@kernel("Reformat", _spec(DType.int8))
class ReformatInt8(_Reformat):
    pass


@kernel("Reformat", _spec(DType.uint8))
class ReformatUint8(_Reformat):
    pass


@kernel("Reformat", _spec(DType.float32))
class ReformatFloat32(_Reformat):
    pass
