# SPDX-License-Identifier: MIT
"""int8 means over the whole map under the contract `double`."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.contract.call import Call, Input, Output, computed
from aidge_build.contract.kernel_kit.average import AVERAGE_OF_MAP, AverageOfMap
from aidge_build.contract.node import kernel

from .pooling import pool_spec


@kernel(("AvgPooling1D", "AvgPooling2D", "GlobalAveragePooling"), replace(pool_spec(*AVERAGE_OF_MAP), rounding="double"))
class AverageInt8(AverageOfMap):
    def call(self) -> Call:
        return Call(
            "aidge_helium_average_int8",
            ("windows/average_int8.h",),
            (Input(0), Output(0), *self.arguments()),
            note="integers, one product for each quotient",
            facts=computed("8 channels", 1),
        )
