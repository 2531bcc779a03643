/* SPDX-License-Identifier: 0BSD */
#include "conv2d_int8_pixel.h"
#include "kit/rounding.h"

#define AIDGE_REF_CONV2D_ADD_CHANNELS 32 /* that are convolved before they are added; a multiple of 4 */

/*
 * output = clamp(rint_half_even((offset + a * convolution + b * residual) / 2^shift) + zero point), int8, channels last.
 *
 * The convolution is that of conv2d_int8.h, requantized to int8, with the arguments weights to levels; the residual has the
 * output's dims, and the output may take its place: each of its values is read before the one at the same place is written.
 * sum: {factor a, factor b, offset, shift, lowest, highest, zero point}, of the output the last three.
 * The generator has proved that int32 holds the sums and that all 65,536 pairs of values give the real formula's result.
 */
static void aidge_ref_conv2d_add_int8(const int8_t *input, const int8_t *residual, int8_t *output, const int8_t *weights,
                                      const int32_t *bias, const float *multipliers, const int32_t *levels,
                                      int32_t multiplier_step, const int32_t *sum, const aidge_kit_window2d *shape)
{
    const int32_t inputs = aidge_kit_divide(shape->in_channels, shape->groups);
    const int32_t outputs = aidge_kit_divide(shape->out_channels, shape->groups);
    aidge_ref_patch_int8 patch = aidge_ref_conv2d_int8_steps(shape);
    int8_t convolved[AIDGE_REF_CONV2D_ADD_CHANNELS];
    int32_t batch, y, x, first, count, i;
    for (batch = 0; batch < shape->batches; batch++) {
        for (y = 0; y < shape->out_height; y++) {
            for (x = 0; x < shape->out_width; x++) {
                aidge_ref_conv2d_int8_see(&patch, shape, y, x);
                for (first = 0; first < shape->out_channels; first += count) {
                    const int32_t group = aidge_kit_divide(first, outputs);
                    count = (group + 1) * outputs - first;
                    count = count < AIDGE_REF_CONV2D_ADD_CHANNELS ? count : AIDGE_REF_CONV2D_ADD_CHANNELS;
                    aidge_ref_conv2d_int8_pixel(input + patch.source + group * inputs,
                                                convolved, weights + first * patch.taps,
                                                bias + (patch.complete ? shape->out_channels : 0) + first,
                                                multipliers + first * multiplier_step, levels, multiplier_step, count, &patch);
                    for (i = 0; i < count; i++) {
                        const int32_t total = sum[2] + convolved[i] * sum[0] + *residual++ * sum[1];
                        int32_t level = sum[6] + aidge_kit_round_shift_s32(total, sum[3]);
                        level = level < sum[4] ? sum[4] : level;
                        *output++ = (int8_t)(level > sum[5] ? sum[5] : level);
                    }
                }
            }
        }
        input += shape->in_height * shape->in_width * shape->in_channels;
    }
}
