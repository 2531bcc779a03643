# SPDX-License-Identifier: MIT
"""int8 means over the whole map."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.mean_pooling import IN_INTEGERS, UNSCALED, WHOLE_MAP, MeanPool
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView

from .pooling import pool_spec

MOST_PIXELS = 255  # whose sums fit int16


@kernel(("AvgPooling1D", "AvgPooling2D", "GlobalAveragePooling"), pool_spec(WHOLE_MAP, IN_INTEGERS, UNSCALED))
class MeanInt8(MeanPool):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands()

    def call(self) -> Call:
        order = self.order().name.lower()
        in_blocks, whole = self.counts()[0] > MOST_PIXELS, self.inputs[0].dims[1] % 8 == 0
        clamped = "_clamped" if self.clamps() else ""
        name = f"aidge_helium_mean_int8_{order}{clamped}{'_blocks' if in_blocks else ''}{'' if whole else '_rest'}"
        return Call(
            name,
            ("windows/mean_int8.h", f"kit/mean_{order}.h"),
            (Input(0), Output(0), self.numbers_of_map(), Literal(self.inputs[0].dims[0]), self.values()),
            note="integers, near a tie float32 in onnxruntime's order",
            texts=(_undecided(order, clamped), _text(name, order, clamped, in_blocks, whole)),
            facts=computed("8 channels"),
        )


def _undecided(order: str, clamped: str) -> str:
    stored = "aidge_kit_stored_level(level, numbers)" if clamped else "aidge_helium_int8(level + AIDGE_KIT_MEAN_ZERO(numbers))"
    return f"""/* The channels of 8 that no sum decides: channel i as bit 2 * i, at least one. */
AIDGE_KIT_NOINLINE void aidge_helium_undecided_{order}{clamped}(int8_t *y, const int8_t *first, uint32_t undecided,
    const aidge_kit_values *values, const int32_t *numbers)
{{
    do {{
        const int32_t channel = __builtin_ctz(undecided) / 2;
        const int32_t level = aidge_kit_mean_{order}(first + channel, values, values->rows * values->columns, numbers);
        y[channel] = (int8_t){stored};
        undecided &= undecided - 1u;
    }} while (undecided != 0u);
}}"""


def _text(name: str, order: str, clamped: str, in_blocks: bool, whole: bool) -> str:
    add = "aidge_helium_add_8" if whole else "aidge_helium_add_up_to_8"
    rest = "" if whole else ", mask"
    sums = (
        f"""int32_t room, left_over;
            int32x4_t even = vdupq_n_s32(offset), odd = even;
            const int8_t *pixel = x + channel;
            for (left_over = pixels; left_over > 0; left_over -= room) {{
                int16x8_t sums;
                room = left_over < 255 ? left_over : 255;
                sums = {add}(pixel, room, channels{rest});
                even = vaddq_s32(even, vmovlbq_s16(sums));
                odd = vaddq_s32(odd, vmovltq_s16(sums));
                pixel += room * channels;
            }}"""
        if in_blocks
        else f"""const int16x8_t sums = {add}(x + channel, pixels, channels{rest});
            const int32x4_t even = vaddq_n_s32(vmovlbq_s16(sums), offset);
            const int32x4_t odd = vaddq_n_s32(vmovltq_s16(sums), offset);"""
    )
    mask = "" if whole else "const mve_pred16_t mask = vctp16q((uint32_t)(channels - channel));\n            "
    store = (
        "vstrbq_s16(y + channel, levels);"
        if whole
        else "vstrbq_p_s16(y + channel, levels, mask);\n            undecided &= mask;"
    )
    return f"""/* The mean over all pixels, int8, channels last; numbers as in mean.h, the factor in the multiplier. */
static void {name}(const int8_t *x, int8_t *y, const int32_t *numbers, int32_t batches, const aidge_kit_values *values)
{{
    const int32_t pixels = values->rows * values->columns;
    const int32_t channels = values->column_step;
    const int32_t offset = -pixels * AIDGE_KIT_MEAN_INPUT_ZERO(numbers);
    for (; batches > 0; batches--) {{
        int32_t channel;
        for (channel = 0; channel < channels; channel += 8) {{
            {mask}{sums}
            uint32_t undecided;
            int16x8_t levels = aidge_helium_levels_of_8(even, odd, numbers, &undecided);
            levels = aidge_helium_stored{clamped}(levels, numbers);
            {store}
            if (undecided != 0u) {{
                aidge_helium_undecided_{order}{clamped}(y + channel, x + channel, undecided, values, numbers);
            }}
        }}
        x += pixels * channels;
        y += channels;
    }}
}}"""
