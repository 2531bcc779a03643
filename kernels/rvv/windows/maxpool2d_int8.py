# SPDX-License-Identifier: MIT
"""int8 maxima: MaxPooling over one or two axes, and over the whole map."""

from __future__ import annotations

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED, SAME_QUANTIZATION
from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..core.assembly import FEATURES, Routine
from .pools import emit_taps, pool_call, pool_text

NAME = "aidge_rvv_maxpool2d_int8"


@kernel(
    ("MaxPooling1D", "MaxPooling2D", "GlobalMaxPooling"),
    ImplSpec(IOSpec(DType.int8, CHANNELS_LAST), features=FEATURES, predicates=(ALL_QUANTIZED, SAME_QUANTIZATION)),
)
class MaxPool2dInt8(PoolNode):
    def call(self) -> Call:
        return pool_call(self, NAME, _text(), self.levels())


def _text() -> str:
    begin = ("lw {low}, 0({numbers})", "lw {high}, 4({numbers})", "li {zero}, -128")
    return pool_text(NAME, "The largest value of each channel.", "e8, m8", begin, _emit_channels, {})


def _emit_channels(code: Routine) -> None:
    code("vmv.v.x v8, {zero}")
    emit_taps(code, "rows", ("vle8.v v0, ({place})", "vmax.vv v8, v8, v0"))
    code("vmax.vx v8, v8, {low}")
    code("vmin.vx v8, v8, {high}")
