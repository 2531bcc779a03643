# SPDX-License-Identifier: MIT
"""int8 means over the whole map that take in their rows part by part."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Output, Scratch
from aidge_build.contract.node import kernel
from aidge_build.kernel_kit.pool_parts import (
    MEANS,
    ORDER_DECIDES,
    SUMS_DECIDE,
    AveragePart,
    ChainedPart,
    MeanPart,
    averages_spec,
    means_spec,
)


@kernel(MEANS, means_spec(SUMS_DECIDE))
class MeanPartInt8(MeanPart):
    def call(self) -> Call:
        return Call(
            "aidge_ref_mean_part_int8",
            ("int8/mean_part_int8.h",),
            (Input(0), Output(0), Scratch(), self.whole.numbers(), self.part()),
            note="integers: every sum decides its level",
        )


@kernel(MEANS, means_spec(ORDER_DECIDES))
class MeanChainsInt8(ChainedPart):
    def call(self) -> Call:
        return Call(
            "aidge_ref_mean_chains_int8",
            ("int8/mean_chains_int8.h",),
            (Input(0), Output(0), Scratch(), self.whole.numbers(), self.chains()),
            note="float32 in onnxruntime's order",
        )


@kernel(MEANS, averages_spec())
class AveragePartInt8(AveragePart):
    def call(self) -> Call:
        numbers, *_ = self.whole.arguments()
        return Call(
            "aidge_ref_average_part_int8",
            ("int8/average_part_int8.h",),
            (Input(0), Output(0), Scratch(), numbers, self.part()),
            note="integers, one product for each quotient",
        )
