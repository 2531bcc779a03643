# SPDX-License-Identifier: MIT
"""int8 means over the whole map that take in their rows part by part."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Output, Scratch
from aidge_build.contract.kernel_kit.pool_parts import (
    HALVES_UP,
    MEANS,
    ORDER_DECIDES,
    REDUCE_MEAN,
    SUMS_DECIDE,
    AveragePart,
    ChainedPart,
    FixedMeanPart,
    HalvesUpPart,
    MeanPart,
    PartNode,
    averages_spec,
    fixed_means_spec,
    halves_up_spec,
    means_spec,
)
from aidge_build.contract.node import kernel


class _Sums(PartNode):
    """A sum of int32 for each channel."""

    def call(self) -> Call:
        name = f"aidge_ref_{self.kind}_part_int8"
        return Call(
            name,
            (self.header, "int8/pixel_sums_int8.h"),
            (Input(0), Output(0), Scratch(), self.numbers(), self.part()),
            note=self.note,
            texts=(_text(name, self.header, self.mean),),
        )


def _text(name: str, header: str, mean: str) -> str:
    return f"""/* Part of the mean over the whole map, int8, channels last; scratch: int32 [channels]; numbers as in {header}. */
static void {name}(const int8_t *input, int8_t *output, void *scratch, const int32_t *numbers, const aidge_kit_part *part)
{{
    int32_t *const sums = (int32_t *)scratch;
    int32_t channel;
    aidge_ref_add_pixels(input, sums, part);
    for (channel = 0; (part->is_last != 0) && (channel < part->channels); channel++) {{
        const int32_t sum = sums[channel];
        output[channel] = {mean};
    }}
}}"""


@kernel(MEANS, means_spec(SUMS_DECIDE))
class MeanPartInt8(_Sums, MeanPart):
    pass


@kernel(MEANS, averages_spec())
class AveragePartInt8(_Sums, AveragePart):
    pass


@kernel(HALVES_UP, halves_up_spec())
class HalvesUpPartInt8(_Sums, HalvesUpPart):
    pass


@kernel(REDUCE_MEAN, fixed_means_spec())
class FixedMeanPartInt8(_Sums, FixedMeanPart):
    pass


@kernel(MEANS, means_spec(ORDER_DECIDES))
class MeanChainsInt8(ChainedPart):
    def call(self) -> Call:
        return self.call_of("ref", "int8/mean_chains_int8.h", {})
