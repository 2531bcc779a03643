/* SPDX-License-Identifier: 0BSD */
#include "mve.h"
#include "kit/window2d.h"

#if AIDGE_HELIUM_ASSEMBLY
typedef struct {
    int32x4_t sums[4];
} aidge_helium_sums;

/* Adds 16 channels of `columns` taps that lie `step` bytes apart. */
static inline void aidge_helium_add_taps(aidge_helium_sums *all, const int8_t *tap, int32_t columns, int32_t step)
{
    int32x4_t sum0 = all->sums[0], sum1 = all->sums[1], sum2 = all->sums[2], sum3 = all->sums[3];
    int32x4_t first, second;
    __asm__ volatile("wls lr, %[columns], 2f\n"
                     "1:\n\t"
                     "vldrb.s32 %q[first], [%[tap]]\n\t"
                     "vldrb.s32 %q[second], [%[tap], #4]\n\t"
                     "vadd.i32 %q[sum0], %q[sum0], %q[first]\n\t"
                     "vldrb.s32 %q[first], [%[tap], #8]\n\t"
                     "vadd.i32 %q[sum1], %q[sum1], %q[second]\n\t"
                     "vldrb.s32 %q[second], [%[tap], #12]\n\t"
                     "vadd.i32 %q[sum2], %q[sum2], %q[first]\n\t"
                     "add %[tap], %[tap], %[step]\n\t"
                     "vadd.i32 %q[sum3], %q[sum3], %q[second]\n\t"
                     "le lr, 1b\n"
                     "2:"
                     : [sum0] "+w"(sum0), [sum1] "+w"(sum1), [sum2] "+w"(sum2), [sum3] "+w"(sum3), [tap] "+&l"(tap),
                       [first] "=&w"(first), [second] "=&w"(second)
                     : [columns] "r"(columns), [step] "r"(step)
                     : "lr", "memory");
    all->sums[0] = sum0;
    all->sums[1] = sum1;
    all->sums[2] = sum2;
    all->sums[3] = sum3;
}

/* Four sums of the channels that `mask` names, requantized and stored. */
static inline void aidge_helium_mean(int8_t *y, int32x4_t sums, const int32_t *levels, float multiplier, mve_pred16_t mask)
{
    int32x4_t level = vaddq_n_s32(vcvtnq_s32_f32(vmulq_n_f32(vcvtq_f32_s32(sums), multiplier)), levels[2]);
    level = vminq_s32(vmaxq_s32(level, vdupq_n_s32(levels[0])), vdupq_n_s32(levels[1]));
    vstrbq_p_s32(y, level, mask);
}
#endif

/*
 * The mean of each window, int8, channels last.
 *
 * levels: {lowest, highest, zero point} of the output, zero point of the input; multipliers: input scale / (count * output
 * scale) for each number of taps in counts: [count_kinds]; taps outside the image count if counted_height is not 0: those
 * above and left of (counted_height, counted_width).
 * The generator has proved the result equal to the real formula for every sum that can occur.
 */
static void aidge_helium_avgpool2d(const int8_t *x, int8_t *y, const int32_t *levels, const float *multipliers,
                                   const int32_t *counts, int32_t count_kinds, int32_t counted_height, int32_t counted_width,
                                   const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t step = shape->dilation_width * channels;
    const int32_t in_row = shape->in_width * channels;
    int32_t batch, out_y, out_x, channel, row, column;
    for (batch = 0; batch < shape->batches; batch++) {
        for (out_y = 0; out_y < shape->out_height; out_y++) {
            const int32_t top = out_y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            const int32_t rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            for (out_x = 0; out_x < shape->out_width; out_x++) {
                const int32_t left = out_x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                const int32_t columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width)
                                        - first_x;
                const int8_t *source = x + (top + first_y * shape->dilation_height) * in_row
                                       + (left + first_x * shape->dilation_width) * channels;
                const int32_t offset = -rows * columns * levels[3];
                const int32_t count = aidge_kit_count_of_taps(rows * columns, top, left, counted_height, counted_width, shape);
                const float multiplier = multipliers[aidge_kit_kind_of_count(count, counts, count_kinds)];
                channel = 0;
#if AIDGE_HELIUM_ASSEMBLY
                for (; channel + 16 <= channels; channel += 16) {
                    const int32x4_t start = vdupq_n_s32(offset);
                    aidge_helium_sums all = {{start, start, start, start}};
                    for (row = 0; row < rows; row++) {
                        aidge_helium_add_taps(&all, source + row * shape->dilation_height * in_row + channel, columns, step);
                    }
                    aidge_helium_mean(y + channel, all.sums[0], levels, multiplier, 0xFFFFu);
                    aidge_helium_mean(y + channel + 4, all.sums[1], levels, multiplier, 0xFFFFu);
                    aidge_helium_mean(y + channel + 8, all.sums[2], levels, multiplier, 0xFFFFu);
                    aidge_helium_mean(y + channel + 12, all.sums[3], levels, multiplier, 0xFFFFu);
                }
                for (; channel < channels; channel += 4) {
                    const mve_pred16_t mask = vctp32q((uint32_t)(channels - channel));
                    int32x4_t sums = vdupq_n_s32(offset);
                    for (row = 0; row < rows; row++) {
                        const int8_t *tap = source + row * shape->dilation_height * in_row + channel;
                        for (column = columns; column > 0; column--) {
                            sums = vaddq_s32(sums, vldrbq_z_s32(tap, mask));
                            tap += step;
                        }
                    }
                    aidge_helium_mean(y + channel, sums, levels, multiplier, mask);
                }
#else
                for (; channel < channels; channel++) {
                    int32_t sum = offset;
                    for (row = 0; row < rows; row++) {
                        const int8_t *tap = source + row * shape->dilation_height * in_row + channel;
                        for (column = 0; column < columns; column++) {
                            sum += tap[column * step];
                        }
                    }
                    sum = aidge_kit_scale(sum, multiplier) + levels[2];
                    sum = sum < levels[0] ? levels[0] : sum;
                    y[channel] = (int8_t)(sum > levels[1] ? levels[1] : sum);
                }
#endif
                y += channels;
            }
        }
        x += shape->in_height * in_row;
    }
}
