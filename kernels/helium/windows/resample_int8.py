# SPDX-License-Identifier: MIT
"""int8 Resize by weighted sums of integers, four neighbouring values at a time."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.resample import Resample, resample_spec
from aidge_build.contract.node import kernel

from ..core.conditions import MVE


@kernel("Resize", resample_spec(features=MVE))
class ResampleInt8(Resample):
    function, source, block = "aidge_helium_resample_int8", "windows/resample_int8.h", "4 values"
