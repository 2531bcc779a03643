# SPDX-License-Identifier: MIT
"""int8 means over the whole map that take in their rows part by part, 4 channels in two words of sums."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Output, Scratch, computed
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView
from aidge_build.kernel_kit.pool_parts import (
    MEANS,
    ORDER_DECIDES,
    SUMS_DECIDE,
    AveragePart,
    ChainedPart,
    MeanPart,
    averages_spec,
    count_of,
    means_spec,
)

from .conditions import FEATURES

MOST_PIXELS = 255  # whose sums fit int16


def _is_wide(view: NodeView) -> bool:
    return count_of(view) > MOST_PIXELS


def _kept_bytes(view: NodeView) -> int:
    """Sums of two channels in a word, of those left over in a word each; or one word for each channel."""
    channels = view.inputs[0].dims[1]
    return 4 * (channels if _is_wide(view) else channels // 4 * 2 + channels % 4)


def _text(name: str, form: str, doc: str, mean: str) -> str:
    """The C function; `mean` is an expression of the stored mean of `sum`."""
    kept = "int32_t" if form else "uint32_t"
    return f"""/* {doc} */
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
class MeanPartInt8(MeanPart):
    kept_bytes = staticmethod(_kept_bytes)

    def call(self) -> Call:
        form = "_wide" if _is_wide(self.view) else ""
        name, doc = f"aidge_cortexm_mean_part_int8{form}", "Part of the mean over a map; numbers as in mean.h."
        return Call(
            name,
            ("kit/mean_part.h", "part_sums.h"),
            (Input(0), Output(0), Scratch(), self.whole.numbers(), self.part()),
            note="integers: every sum decides its level",
            texts=(_text(name, form, doc, "aidge_kit_mean_of_sum(sum, numbers, part)"),),
            facts=computed("4 channels"),
        )


@kernel(MEANS, means_spec(ORDER_DECIDES, features=FEATURES | {"fpu"}))
class MeanChainsInt8(ChainedPart):
    def call(self) -> Call:
        return Call(
            "aidge_cortexm_mean_chains_int8",
            ("mean_chains_int8.h",),
            (Input(0), Output(0), Scratch(), self.whole.numbers(), self.chains()),
            note="float32 in onnxruntime's order",
            facts=computed("4 channels"),
        )


@kernel(MEANS, averages_spec(features=FEATURES))
class AveragePartInt8(AveragePart):
    kept_bytes = staticmethod(_kept_bytes)

    def call(self) -> Call:
        form, (numbers, *_) = "_wide" if _is_wide(self.view) else "", self.whole.arguments()
        name, doc = f"aidge_cortexm_average_part_int8{form}", "Part of the mean under the contract `double`."
        return Call(
            name,
            ("kit/average.h", "part_sums.h"),
            (Input(0), Output(0), Scratch(), numbers, self.part()),
            note="integers, one product for each quotient",
            texts=(_text(name, form, doc, "aidge_kit_average(sum, numbers)"),),
            facts=computed("4 channels", 1),
        )
