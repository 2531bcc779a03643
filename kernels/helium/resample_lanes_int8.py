# SPDX-License-Identifier: MIT
"""int8 Resize, linear along two neighbouring axes: eight values of a position at a time, sums of 16 bits."""

from __future__ import annotations

from aidge_build.contract.call import Call, computed
from aidge_build.contract.node import kernel
from aidge_build.kernel_kit.resample import resample_spec
from aidge_build.kernel_kit.resample_lanes import LANES, ResampleLanes

from .conditions import MVE


@kernel("Resize", resample_spec(LANES, features=MVE))
class ResampleLanesInt8(ResampleLanes):
    def call(self) -> Call:
        name = f"aidge_helium_resample_lanes_{'even' if self.levels.ties else 'scaled'}"
        return Call(name, ("resample_lanes_int8.h",), self.arguments(), facts=computed("8 values of a position", 0))
