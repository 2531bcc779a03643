# SPDX-License-Identifier: MIT
"""int8 means over the whole map that take in their rows part by part, sums of 8 channels in one or two vectors."""

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

from .conditions import MVE

MOST_PIXELS = 255  # whose sums fit int16


def _is_wide(view: NodeView) -> bool:
    return count_of(view) > MOST_PIXELS


class _Sums(PartNode):
    """Sums of groups of 8 channels; `vector` is an expression of the stored means of `even` and `odd`, where there is one."""

    vector = ""
    vector_sources: tuple[str, ...] = ()
    vector_text = ""

    @staticmethod
    def kept_bytes(view: NodeView) -> int:
        return -(-view.inputs[0].dims[1] // 8) * (32 if _is_wide(view) else 16)

    def call(self) -> Call:
        is_wide = _is_wide(self.view)
        name = f"aidge_helium_{self.kind}_part_int8{'_wide' if is_wide else ''}"
        return Call(
            name,
            (self.header, *self.vector_sources, "part_sums.h"),
            (Input(0), Output(0), Scratch(), self.numbers(), self.part()),
            note=self.note,
            texts=(*filter(None, [self.vector_text]), _text(name, is_wide, self.header, self.vector, self.mean)),
            facts=computed("8 channels"),
        )


def _text(name: str, is_wide: bool, header: str, vector: str, mean: str) -> str:
    kept = "int32_t" if is_wide else "int16_t"
    return f"""/* Part of the mean over the whole map, int8, channels last; numbers as in {header}. */
AIDGE_KIT_NOINLINE void {name}(const int8_t *x, int8_t *y, void *scratch, const int32_t *numbers, const aidge_kit_part *part)
{{
    const {kept} *const sums = (const {kept} *)scratch;
    int32_t channel;
    aidge_helium_add_pixels(x, scratch, part, {int(is_wide)});
    if (part->is_last == 0) {{
        return;
    }}
{_in_vectors(is_wide, vector, mean) if vector else _one_by_one(is_wide, mean)}
}}"""


def _one_by_one(is_wide: bool, mean: str) -> str:
    place = "aidge_helium_place_of_sum(channel)" if is_wide else "channel"
    return f"""    for (channel = 0; channel < part->channels; channel++) {{
        const int32_t sum = sums[{place}];
        y[channel] = {mean};
    }}"""


def _in_vectors(is_wide: bool, vector: str, mean: str) -> str:
    even, odd = (
        ("vldrwq_s32(sums + channel)", "vldrwq_s32(sums + channel + 4)")
        if is_wide
        else ("vmovlbq_s16(vldrhq_s16(sums + channel))", "vmovltq_s16(vldrhq_s16(sums + channel))")
    )
    return f"""#if AIDGE_HELIUM_ASSEMBLY
    for (channel = 0; channel < part->channels; channel += 8) {{
        const int32x4_t even = {even};
        const int32x4_t odd = {odd};
        vstrbq_p_s16(y + channel, {vector}, vctp16q((uint32_t)(part->channels - channel)));
    }}
#else
{_one_by_one(is_wide, mean)}
#endif"""


DECIDED = """#if AIDGE_HELIUM_ASSEMBLY
/* Stored means of sums that decide their levels, in the lower bytes. */
static inline int16x8_t aidge_helium_decided_means_of_8(int32x4_t even, int32x4_t odd, const int32_t *numbers,
    const aidge_kit_part *part)
{
    const int32_t offset = -part->all * AIDGE_KIT_MEAN_INPUT_ZERO(numbers);
    uint32_t undecided;
    even = vmulq_n_s32(vaddq_n_s32(even, offset), AIDGE_KIT_MEAN_FACTOR);
    odd = vmulq_n_s32(vaddq_n_s32(odd, offset), AIDGE_KIT_MEAN_FACTOR);
    return aidge_helium_stored_clamped(aidge_helium_levels_of_8(even, odd, numbers, &undecided), numbers);
}
#endif"""


@kernel(MEANS, means_spec(SUMS_DECIDE, features=MVE))
class MeanPartInt8(_Sums, MeanPart):
    vector = "aidge_helium_decided_means_of_8(even, odd, numbers, part)"
    vector_sources = ("mean_int8.h",)
    vector_text = DECIDED


@kernel(MEANS, averages_spec(MVE))
class AveragePartInt8(_Sums, AveragePart):
    vector = "vmovntq_s32(vreinterpretq_s16_s32(aidge_helium_averages(even, numbers)), aidge_helium_averages(odd, numbers))"
    vector_sources = ("average_lanes.h",)


@kernel(HALVES_UP, halves_up_spec(MVE))
class HalvesUpPartInt8(_Sums, HalvesUpPart):
    pass


@kernel(REDUCE_MEAN, fixed_means_spec(MVE))
class FixedMeanPartInt8(_Sums, FixedMeanPart):
    pass


@kernel(MEANS, means_spec(ORDER_DECIDES, features=MVE))
class MeanChainsInt8(ChainedPart):
    def call(self) -> Call:
        return self.call_of("helium", "mean_chains_int8.h", computed("4 channels"))
