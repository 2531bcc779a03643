/* SPDX-License-Identifier: 0BSD */
#include "mve.h"
#include "ref/window2d.h"

#if AIDGE_HELIUM_ASSEMBLY
/* Four sums of the channels that `mask` names, requantized and stored. */
static inline void aidge_helium_mean(int8_t *y, int32x4_t sums, const int32_t *levels, float multiplier, mve_pred16_t mask)
{
    int32x4_t level = vcvtnq_s32_f32(vmulq_n_f32(vcvtq_f32_s32(sums), multiplier));
    level = vminq_s32(vmaxq_s32(level, vdupq_n_s32(levels[1])), vdupq_n_s32(levels[2]));
    vstrbq_p_s32(y, vaddq_n_s32(level, levels[3]), mask);
}
#endif

/*
 * The mean of each window, int8, channels last; every window lies inside the image.
 *
 * levels: {-taps * input zero point, lowest - zero point, highest - zero point, zero point}; multiplier: input scale /
 * (taps * output scale). The generator has proved the result equal to the real formula for every sum that can occur.
 */
static void aidge_helium_avgpool2d(const int8_t *x, int8_t *y, const int32_t *levels, const float *multiplier,
                                   const aidge_ref_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t step = shape->dilation_width * channels;
    const int32_t in_row = shape->in_width * channels;
    int32_t batch, out_y, out_x, channel, row, column;
    for (batch = 0; batch < shape->batches; batch++) {
        for (out_y = 0; out_y < shape->out_height; out_y++) {
            for (out_x = 0; out_x < shape->out_width; out_x++) {
                const int8_t *source = x + out_y * shape->stride_height * in_row + out_x * shape->stride_width * channels;
                channel = 0;
#if AIDGE_HELIUM_ASSEMBLY
                for (; channel + 16 <= channels; channel += 16) {
                    int32x4_t sum0 = vdupq_n_s32(levels[0]), sum1 = sum0, sum2 = sum0, sum3 = sum0;
                    for (row = 0; row < shape->kernel_height; row++) {
                        const int8_t *tap = source + row * shape->dilation_height * in_row + channel;
                        for (column = shape->kernel_width; column > 0; column--) {
                            sum0 = vaddq_s32(sum0, vldrbq_s32(tap));
                            sum1 = vaddq_s32(sum1, vldrbq_s32(tap + 4));
                            sum2 = vaddq_s32(sum2, vldrbq_s32(tap + 8));
                            sum3 = vaddq_s32(sum3, vldrbq_s32(tap + 12));
                            tap += step;
                        }
                    }
                    aidge_helium_mean(y + channel, sum0, levels, *multiplier, 0xFFFFu);
                    aidge_helium_mean(y + channel + 4, sum1, levels, *multiplier, 0xFFFFu);
                    aidge_helium_mean(y + channel + 8, sum2, levels, *multiplier, 0xFFFFu);
                    aidge_helium_mean(y + channel + 12, sum3, levels, *multiplier, 0xFFFFu);
                }
                for (; channel < channels; channel += 4) {
                    const mve_pred16_t mask = vctp32q((uint32_t)(channels - channel));
                    int32x4_t sums = vdupq_n_s32(levels[0]);
                    for (row = 0; row < shape->kernel_height; row++) {
                        const int8_t *tap = source + row * shape->dilation_height * in_row + channel;
                        for (column = shape->kernel_width; column > 0; column--) {
                            sums = vaddq_s32(sums, vldrbq_z_s32(tap, mask));
                            tap += step;
                        }
                    }
                    aidge_helium_mean(y + channel, sums, levels, *multiplier, mask);
                }
#else
                for (; channel < channels; channel++) {
                    int32_t sum = levels[0];
                    for (row = 0; row < shape->kernel_height; row++) {
                        const int8_t *tap = source + row * shape->dilation_height * in_row + channel;
                        for (column = 0; column < shape->kernel_width; column++) {
                            sum += tap[column * step];
                        }
                    }
                    y[channel] = aidge_ref_requantize(sum, *multiplier, aidge_ref_load_levels(levels + 1));
                }
#endif
                y += channels;
            }
        }
        x += shape->in_height * in_row;
    }
}
