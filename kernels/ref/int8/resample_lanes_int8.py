# SPDX-License-Identifier: MIT
"""int8 Resize, linear along two neighbouring axes: two sums in a register."""

from __future__ import annotations

from aidge_build.contract.call import Call, computed
from aidge_build.contract.kernel_kit.resample import resample_spec
from aidge_build.contract.kernel_kit.resample_lanes import LANES, ResampleLanes
from aidge_build.contract.node import kernel


@kernel("Resize", resample_spec(LANES))
class ResampleLanesInt8(ResampleLanes):
    def call(self) -> Call:
        name, source = f"aidge_ref_resample_lanes_{self.form}", "int8/resample_lanes_int8.h"
        return Call(name, (source,), self.arguments(), facts=computed("4 values", 1))
