# SPDX-License-Identifier: MIT
"""float32 maxima and means of windows over one or two axes, and over the whole map."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.pool_float32 import MAXIMA, MEANS
from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..core.assembly import WITH_FLOATS, Routine
from ..core.floats import emit_limits
from ..windows.pools import emit_taps, pool_call, pool_text

_SPEC = ImplSpec(IOSpec(DType.float32, CHANNELS_LAST), features=WITH_FLOATS, predicates=(REAL,))
_NAMES = {"lowest": "fa0", "highest": "fa1", "count": "fa2", "first": "fa3"}


def _call(node: PoolNode, name: str, first: str, line: str, result: str) -> Call:
    """Returns the call of a pool: `line` adds the tap in v0 to v8, which begins with the bits `first`."""

    def channels(code: Routine) -> None:
        code("vfmv.v.f v8, {first}")
        emit_taps(code, "rows", ("vle32.v v0, ({place})", line))
        if result:
            code(result)
        emit_limits(code, ["v8"])

    begin = ["flw {lowest}, 0({numbers})", "flw {highest}, 4({numbers})", "lw {left}, 20({taps})", "fcvt.s.w {count}, {left}"]
    begin += [f"li {{left}}, {first}", "fmv.w.x {first}, {left}"]
    text = pool_text(name, "The windows of a pixel, float32.", "e32, m8", begin, channels, _NAMES, is_float=True)
    limits = numpy.array([node.operator.minimum, node.operator.maximum], numpy.float32)
    return pool_call(node, name, text, limits.view(numpy.int32).tolist())


@kernel(MAXIMA, _SPEC)
class MaxPoolFloat32(PoolNode):
    def call(self) -> Call:
        return _call(self, "aidge_rvv_maxpool2d_float32", "0xff800000", "vfmax.vv v8, v8, v0", "")


@kernel(MEANS, _SPEC)
class MeanFloat32(PoolNode):
    def call(self) -> Call:
        self.counts()  # refuses windows without a position
        return _call(self, "aidge_rvv_mean_float32", "0", "vfadd.vv v8, v8, v0", "vfdiv.vf v8, v8, {count}")
