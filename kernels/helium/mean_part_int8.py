# SPDX-License-Identifier: MIT
"""int8 means over the whole map that take in their rows part by part, sums of 8 channels in one or two vectors."""

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

from .conditions import MVE

MOST_PIXELS = 255  # whose sums fit int16


def _is_wide(view: NodeView) -> bool:
    return count_of(view) > MOST_PIXELS


def _kept_bytes(view: NodeView) -> int:
    """Of groups of 8 channels."""
    return -(-view.inputs[0].dims[1] // 8) * (32 if _is_wide(view) else 16)


def _text(name: str, is_wide: bool, doc: str, centred: str, levels: str, mean: str) -> str:
    """The C function: `levels` are expressions of the stored means of `even` and `odd` plus `centred`, `mean` of `sum`."""
    kept = "int32_t" if is_wide else "int16_t"
    loaded = (
        ("vldrwq_s32(sums + channel)", "vldrwq_s32(sums + channel + 4)")
        if is_wide
        else ("vmovlbq_s16(vldrhq_s16(sums + channel))", "vmovltq_s16(vldrhq_s16(sums + channel))")
    )
    even, odd = (f"vaddq_n_s32({one}, {centred})" if centred else one for one in loaded)
    return f"""/* {doc} */
static void {name}(const int8_t *x, int8_t *y, void *scratch, const int32_t *numbers, const aidge_kit_part *part)
{{
    const {kept} *const sums = (const {kept} *)scratch;
    int32_t channel;
    aidge_helium_add_pixels(x, scratch, part, {int(is_wide)});
    if (part->is_last == 0) {{
        return;
    }}
#if AIDGE_HELIUM_ASSEMBLY
    for (channel = 0; channel < part->channels; channel += 8) {{
        const int32x4_t even = {even};
        const int32x4_t odd = {odd};
        vstrbq_p_s16(y + channel, {levels}, vctp16q((uint32_t)(part->channels - channel)));
    }}
#else
    for (channel = 0; channel < part->channels; channel++) {{
        const int32_t sum = sums[channel];
        y[channel] = {mean};
    }}
#endif
}}"""


@kernel(MEANS, means_spec(SUMS_DECIDE, features=MVE))
class MeanPartInt8(MeanPart):
    kept_bytes = staticmethod(_kept_bytes)

    def call(self) -> Call:
        is_wide = _is_wide(self.view)
        name = f"aidge_helium_mean_part_int8{'_wide' if is_wide else ''}"
        doc = "Part of the mean over a map, int8, channels last; numbers as in mean.h."
        centred = "-part->all * AIDGE_KIT_MEAN_INPUT_ZERO(numbers)"
        levels = "aidge_helium_decided_means_of_8(even, odd, numbers)"
        return Call(
            name,
            ("kit/mean_part.h", "mean_int8.h", "part_sums.h"),
            (Input(0), Output(0), Scratch(), self.whole.numbers(), self.part()),
            note="integers: every sum decides its level",
            texts=(DECIDED, _text(name, is_wide, doc, centred, levels, "aidge_kit_mean_of_sum(sum, numbers, part)")),
            facts=computed("8 channels"),
        )


@kernel(MEANS, means_spec(ORDER_DECIDES, features=MVE))
class MeanChainsInt8(ChainedPart):
    def call(self) -> Call:
        return Call(
            "aidge_helium_mean_chains_int8",
            ("mean_chains_int8.h",),
            (Input(0), Output(0), Scratch(), self.whole.numbers(), self.chains()),
            note="float32 in onnxruntime's order",
            facts=computed("4 channels"),
        )


@kernel(MEANS, averages_spec(features=MVE))
class AveragePartInt8(AveragePart):
    kept_bytes = staticmethod(_kept_bytes)

    def call(self) -> Call:
        is_wide, (numbers, *_) = _is_wide(self.view), self.whole.arguments()
        name = f"aidge_helium_average_part_int8{'_wide' if is_wide else ''}"
        doc = "Part of the mean under the contract `double`, int8, channels last; numbers as in kit/average.h."
        levels = "vmovntq_s32(vreinterpretq_s16_s32(aidge_helium_averages(even, numbers)), aidge_helium_averages(odd, numbers))"
        return Call(
            name,
            ("average_lanes.h", "part_sums.h"),
            (Input(0), Output(0), Scratch(), numbers, self.part()),
            note="integers, one product for each quotient",
            texts=(_text(name, is_wide, doc, "", levels, "aidge_kit_average(sum, numbers)"),),
            facts=computed("8 channels", 1),
        )


DECIDED = """#if AIDGE_HELIUM_ASSEMBLY
/* Stored means of sums minus zero points that decide their levels, in the lower bytes. */
static inline int16x8_t aidge_helium_decided_means_of_8(int32x4_t even, int32x4_t odd, const int32_t *numbers)
{
    uint32_t undecided;
    even = vmulq_n_s32(even, AIDGE_KIT_MEAN_FACTOR);
    odd = vmulq_n_s32(odd, AIDGE_KIT_MEAN_FACTOR);
    return aidge_helium_stored_clamped(aidge_helium_levels_of_8(even, odd, numbers, &undecided), numbers);
}
#endif"""
