/* SPDX-License-Identifier: 0BSD */
#include "dot_int8.h"
#include "shared/fc_shape.h"
#include "kit/requantize.h"

/*
 * output = requantize(input * weights + bias), int8.
 *
 * weights: for each block of 4 outputs [in_features][4]; the last out_features % 4 outputs one by one as [in_features].
 * bias: [out_features], less (input zero point) * (sum of the weights);
 * multipliers: [out_features], or one for all if multiplier_step is 0;
 * levels: {lowest - zero point, highest - zero point, zero point} of the output.
 * Ranges: the generator has proved that no accumulator leaves int32.
 */
AIDGE_KIT_INLINE void aidge_ref_fc_int8_rows(const int8_t *input, int8_t *output, const int8_t *weights, const int32_t *bias,
                                             const float *multipliers, const int32_t *levels, int32_t multiplier_step,
                                             const aidge_ref_fc_shape *shape, int32_t wide)
{
    const int32_t count = shape->in_features;
    const aidge_kit_levels bounds = aidge_kit_load_levels(levels);
    int32_t batch, left;
    for (batch = 0; batch < shape->batches; batch++) {
        const int8_t *w = weights;
        const int32_t *b = bias;
        const float *multiplier = multipliers;
        for (left = shape->out_features; left >= 4; left -= 4) {
            int32_t sums[4];
            sums[0] = b[0];
            sums[1] = b[1];
            sums[2] = b[2];
            sums[3] = b[3];
            aidge_ref_dot4_int8(input, w, count, 0, wide, sums);
            output[0] = aidge_kit_requantize(sums[0], multiplier[0], bounds);
            output[1] = aidge_kit_requantize(sums[1], multiplier[multiplier_step], bounds);
            output[2] = aidge_kit_requantize(sums[2], multiplier[2 * multiplier_step], bounds);
            output[3] = aidge_kit_requantize(sums[3], multiplier[3 * multiplier_step], bounds);
            output += 4;
            b += 4;
            multiplier += 4 * multiplier_step;
            w += (count * 4) << wide;
        }
        for (left = shape->out_features & 3; left > 0; left--) {
            int32_t sum = *b++ + aidge_ref_dot_int8(input, w, count, 0, wide);
            *output++ = aidge_kit_requantize(sum, *multiplier, bounds);
            multiplier += multiplier_step;
            w += count << wide;
        }
        input += count;
    }
}

static void aidge_ref_fc_int8(const int8_t *input, int8_t *output, const int8_t *weights, const int32_t *bias,
                              const float *multipliers, const int32_t *levels, int32_t multiplier_step,
                              const aidge_ref_fc_shape *shape)
{
    aidge_ref_fc_int8_rows(input, output, weights, bias, multipliers, levels, multiplier_step, shape, 0);
}

/* The same with int16 weights. */
AIDGE_KIT_NOINLINE void aidge_ref_fc_int8_wide(const int8_t *input, int8_t *output, const int16_t *weights, const int32_t *bias,
                                               const float *multipliers, const int32_t *levels, int32_t multiplier_step,
                                               const aidge_ref_fc_shape *shape)
{
    aidge_ref_fc_int8_rows(input, output, (const int8_t *)weights, bias, multipliers, levels, multiplier_step, shape, 1);
}
