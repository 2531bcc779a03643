# SPDX-License-Identifier: MIT
"""int8 Resize by weighted sums of integers."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.resample import Resample, resample_spec
from aidge_build.contract.node import kernel


@kernel("Resize", resample_spec())
class ResampleInt8(Resample):
    function, near_function, source = "aidge_ref_resample_int8", "aidge_ref_resample_int8_near", "int8/resample_int8.h"
