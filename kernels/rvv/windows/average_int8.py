# SPDX-License-Identifier: MIT
"""int8 means under the contract `double`: sums of stored values over their number, rounded half away from zero."""

from __future__ import annotations

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.average import ONE_SCALE
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..core.assembly import FEATURES, Routine, emit_stored
from .pools import emit_taps, pool_call, pool_text

REGISTERS = 4  # of a sum
NAME = "aidge_rvv_average_int8"
_BEGIN = ("lw {low}, 0({numbers})", "lw {high}, 4({numbers})", "lw {count}, 20({taps})", "srli {half}, {count}, 1")
_SIGNED = ("vxor.vv v8, v8, v12", "vsub.vv v8, v8, v12")  # with the sign in v12, a magnitude or a signed value
_QUOTIENT = ("vsra.vi v12, v8, 31", *_SIGNED, "vadd.vx v8, v8, {half}", "vdivu.vx v8, v8, {count}", *_SIGNED)


def _counts_pads(view: NodeView) -> str:
    return "pads count" if getattr(view.operator, "counts_pads", False) else ""


@kernel(
    ("AvgPooling1D", "AvgPooling2D", "GlobalAveragePooling"),
    ImplSpec(
        IOSpec(DType.int8, CHANNELS_LAST),
        features=FEATURES,
        predicates=(ALL_QUANTIZED, ONE_SCALE, Predicate("pads do not count", _counts_pads)),
        rounding="double",
    ),
)
class AverageInt8(PoolNode):
    def call(self) -> Call:
        return pool_call(self, NAME, _text(), self.levels())


def _text() -> str:
    more = {"count": "a2", "half": "t6"}
    return pool_text(NAME, "The mean of each channel.", f"e32, m{REGISTERS}", _BEGIN, _emit_channels, more)


def _emit_channels(code: Routine) -> None:
    code("vmv.v.i v8, 0")
    emit_taps(code, "rows", ("vle8.v v0, ({place})", "vsext.vf4 v4, v0", "vadd.vv v8, v8, v4"))
    for line in _QUOTIENT:
        code(line)
    emit_stored(code, ["v8"], REGISTERS)
