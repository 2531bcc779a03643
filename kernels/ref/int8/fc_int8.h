/* SPDX-License-Identifier: 0BSD */
#include "dot_int8.h"
#include "parameters_int8.h"
#include "shared/fc_shape.h"
#include "kit/requantize.h"

/*
 * output = requantize(input * weights + bias), int8.
 *
 * weights: for each block of 4 outputs [in_features][4]; the last out_features % 4 outputs one by one as [in_features].
 * bias: [out_features], less (input zero point) * (sum of the weights);
 * multipliers: [out_features], or one for all if multiplier_step is 0; none if they are joined with the biases
 *   (parameters_int8.h);
 * levels: {lowest - zero point, highest - zero point, zero point} of the output.
 * Ranges: the generator has proved that no accumulator leaves int32.
 */
AIDGE_KIT_INLINE void aidge_ref_fc_int8_rows(const int8_t *input, int8_t *output, const int8_t *weights, const int32_t *bias,
                                             const float *multipliers, const int32_t *levels, int32_t multiplier_step,
                                             const aidge_ref_fc_shape *shape, int32_t wide, int32_t form)
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
            sums[0] = aidge_ref_bias(b, 0, form);
            sums[1] = aidge_ref_bias(b, 1, form);
            sums[2] = aidge_ref_bias(b, 2, form);
            sums[3] = aidge_ref_bias(b, 3, form);
            aidge_ref_dot4_int8(input, w, count, 0, wide, sums);
            aidge_ref_store4(sums, output, b, multiplier, multiplier_step, bounds, form);
            output += 4;
            b += aidge_ref_bias_words(4, form);
            multiplier += 4 * multiplier_step;
            w += (count * 4) << wide;
        }
        for (left = 0; left < (shape->out_features & 3); left++) {
            const int32_t sum = aidge_ref_bias(b, left, form) + aidge_ref_dot_int8(input, w, count, 0, wide);
            *output++ = aidge_ref_stored(sum, b, multiplier, left, multiplier_step, bounds, form);
            w += count << wide;
        }
        input += count;
    }
}

static void aidge_ref_fc_int8(const int8_t *input, int8_t *output, const int8_t *weights, const int32_t *bias,
                              const float *multipliers, const int32_t *levels, int32_t multiplier_step,
                              const aidge_ref_fc_shape *shape)
{
    aidge_ref_fc_int8_rows(input, output, weights, bias, multipliers, levels, multiplier_step, shape, 0, AIDGE_REF_FLOATS);
}

/* The same with int16 weights. */
AIDGE_KIT_NOINLINE void aidge_ref_fc_int8_wide(const int8_t *input, int8_t *output, const int16_t *weights, const int32_t *bias,
                                               const float *multipliers, const int32_t *levels, int32_t multiplier_step,
                                               const aidge_ref_fc_shape *shape)
{
    aidge_ref_fc_int8_rows(input, output, (const int8_t *)weights, bias, multipliers, levels, multiplier_step, shape, 1,
                           AIDGE_REF_FLOATS);
}

/* The same with int8 weights and fixed factors: [out_features][2], or one pair. */
AIDGE_KIT_NOINLINE void aidge_ref_fc_int8_fixed(const int8_t *input, int8_t *output, const int8_t *weights, const int32_t *bias,
                                                const int32_t *factors, const int32_t *levels, int32_t factor_step,
                                                const aidge_ref_fc_shape *shape)
{
    aidge_ref_fc_int8_rows(input, output, weights, bias, (const float *)(const void *)factors, levels, factor_step, shape, 0,
                           AIDGE_REF_FIXED);
}

/* The same with int8 weights, and floats for kit/near.h. */
AIDGE_KIT_NOINLINE void aidge_ref_fc_int8_near(const int8_t *input, int8_t *output, const int8_t *weights, const int32_t *bias,
                                               const float *multipliers, const int32_t *levels, int32_t multiplier_step,
                                               const aidge_ref_fc_shape *shape)
{
    aidge_ref_fc_int8_rows(input, output, weights, bias, multipliers, levels, multiplier_step, shape, 0, AIDGE_REF_NEAR);
}

/* The same with int8 weights, and biases and multipliers joined. */
AIDGE_KIT_NOINLINE void aidge_ref_fc_int8_joined(const int8_t *input, int8_t *output, const int8_t *weights,
                                                 const int32_t *joined, const int32_t *levels, const aidge_ref_fc_shape *shape)
{
    aidge_ref_fc_int8_rows(input, output, weights, joined, NULL, levels, 0, shape, 0, AIDGE_REF_JOINED);
}
