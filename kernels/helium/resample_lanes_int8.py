# SPDX-License-Identifier: MIT
"""int8 Resize, linear along two neighbouring axes within one scale: eight values at a time, sums of 16 bits."""

from __future__ import annotations

from aidge_build.contract.call import Call, computed
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.kernel_kit.resample import resample_spec
from aidge_build.kernel_kit.resample_lanes import LANES, ResampleLanes

from .conditions import MVE


def _scaled(view: NodeView) -> str:
    return "" if ResampleLanes(view).levels.ties else "another scale, or a denominator that is no power of two"


@kernel("Resize", resample_spec(LANES, Predicate("within one scale, over a power of two", _scaled), features=MVE))
class ResampleLanesInt8(ResampleLanes):
    def call(self) -> Call:
        source = "resample_lanes_int8.h"
        return Call("aidge_helium_resample_lanes", (source,), self.arguments(), facts=computed("8 values", 1))
