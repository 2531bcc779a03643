# SPDX-License-Identifier: MIT
"""int8 means over the whole map that take in their rows part by part, 4 channels in two words of sums."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Output, Scratch, computed
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
    count_of,
    fixed_means_spec,
    halves_up_spec,
    means_spec,
)
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView

from .conditions import FEATURES

MOST_PIXELS = 255  # whose sums fit int16


def _is_wide(view: NodeView) -> bool:
    return count_of(view) > MOST_PIXELS


class _Sums(PartNode):
    """Sums of two channels in a word, of those left over in a word each; or one word for each channel."""

    @staticmethod
    def kept_bytes(view: NodeView) -> int:
        channels = view.inputs[0].dims[1]
        return 4 * (channels if _is_wide(view) else channels // 4 * 2 + channels % 4)

    def call(self) -> Call:
        form = "_wide" if _is_wide(self.view) else ""
        name = f"aidge_cortexm_{self.kind}_part_int8{form}"
        return Call(
            name,
            (self.header, "part_sums.h"),
            (Input(0), Output(0), Scratch(), self.numbers(), self.part()),
            note=self.note,
            texts=(_text(name, form, self.header, self.mean),),
            facts=computed("4 channels" if form else "8 channels"),
        )


def _text(name: str, form: str, header: str, mean: str) -> str:
    kept = "int32_t" if form else "uint32_t"
    return f"""/* Part of the mean over the whole map, int8, channels last; numbers as in {header}. */
static void {name}(const int8_t *input, int8_t *output, void *scratch, const int32_t *numbers, const aidge_kit_part *part)
{{
    {kept} *const sums = ({kept} *)scratch;
    int32_t channel;
    aidge_cortexm_add_pixels{form}(input, sums, part);
    for (channel = 0; (part->is_last != 0) && (channel < part->channels); channel++) {{
        const int32_t sum = aidge_cortexm_sum_of{form}(sums, channel, part->channels);
        output[channel] = {mean};
    }}
}}"""


@kernel(MEANS, means_spec(SUMS_DECIDE, features=FEATURES))
class MeanPartInt8(_Sums, MeanPart):
    pass


@kernel(MEANS, averages_spec(FEATURES))
class AveragePartInt8(_Sums, AveragePart):
    pass


@kernel(HALVES_UP, halves_up_spec(FEATURES))
class HalvesUpPartInt8(_Sums, HalvesUpPart):
    pass


@kernel(REDUCE_MEAN, fixed_means_spec(FEATURES))
class FixedMeanPartInt8(_Sums, FixedMeanPart):
    pass


@kernel(MEANS, means_spec(ORDER_DECIDES, features=FEATURES | {"fpu"}))
class MeanChainsInt8(ChainedPart):
    def call(self) -> Call:
        return self.call_of("cortexm", "mean_chains_int8.h", computed("4 channels"))
