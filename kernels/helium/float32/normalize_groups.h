/* SPDX-License-Identifier: 0BSD */
#include "../steps.h"
#include "kit/cells.h"
#include "normalize.h"

/* Batches of groups of values that have one mean and one deviation, in `runs` runs of `length` with a scale and a bias each. */
typedef struct {
    int32_t batches, groups, runs, length;
} aidge_helium_groups_float32;

/* The mean of neighbouring values. */
AIDGE_KIT_INLINE float aidge_helium_mean_of(const float *x, int32_t count)
{
    int32_t left = count;
#if AIDGE_HELIUM_ASSEMBLY
    float32x4_t sums = vdupq_n_f32(0.0f), others = sums;
    for (; left >= 8; left -= 8) {
        sums = vaddq_f32(sums, vldrwq_f32(x));
        x = aidge_helium_next_of_4(x);
        others = vaddq_f32(others, vldrwq_f32(x));
        x = aidge_helium_next_of_4(x);
    }
    for (; left > 0; left -= 4) {
        sums = vaddq_f32(sums, vldrwq_z_f32(x, vctp32q((uint32_t)left)));
        x += 4;
    }
    return aidge_helium_sum_of_lanes(vaddq_f32(sums, others)) / (float)count;
#else
    float sum = 0.0f;
    for (; left > 0; left--) {
        sum += *x++;
    }
    return sum / (float)count;
#endif
}

/* 1 / sqrt(mean of (x - mean)^2 + epsilon) of neighbouring values. */
AIDGE_KIT_INLINE float aidge_helium_inverse_deviation(const float *x, float mean, float epsilon, int32_t count)
{
    int32_t left = count;
    float squares = 0.0f;
#if AIDGE_HELIUM_ASSEMBLY
    float32x4_t sums = vdupq_n_f32(0.0f), others = sums;
    for (; left >= 8; left -= 8) {
        float32x4_t value = vsubq_n_f32(vldrwq_f32(x), mean);
        sums = vfmaq_f32(sums, value, value);
        x = aidge_helium_next_of_4(x);
        value = vsubq_n_f32(vldrwq_f32(x), mean);
        others = vfmaq_f32(others, value, value);
        x = aidge_helium_next_of_4(x);
    }
    for (; left > 0; left -= 4) {
        const mve_pred16_t there = vctp32q((uint32_t)left);
        const float32x4_t first = vsubq_n_f32(vldrwq_z_f32(x, there), mean);
        sums = vfmaq_m_f32(sums, first, first, there);
        x += 4;
    }
    squares = aidge_helium_sum_of_lanes(vaddq_f32(sums, others));
#else
    for (; left > 0; left--) {
        squares += (*x - mean) * (*x - mean);
        x++;
    }
#endif
    return 1.0f / sqrtf(squares / (float)count + epsilon);
}

/* y = (x - mean) * factor + shift. */
AIDGE_KIT_INLINE void aidge_helium_move_float32(const float *x, float *y, float mean, float factor, float shift, int32_t left)
{
#if AIDGE_HELIUM_ASSEMBLY
    const float32x4_t factors = vdupq_n_f32(factor);
    for (; left >= 8; left -= 8) {
        vstrwq_f32(y, vfmasq_n_f32(vsubq_n_f32(vldrwq_f32(x), mean), factors, shift));
        x = aidge_helium_next_of_4(x);
        y = aidge_kit_again(y + 4);
        vstrwq_f32(y, vfmasq_n_f32(vsubq_n_f32(vldrwq_f32(x), mean), factors, shift));
        x = aidge_helium_next_of_4(x);
        y = aidge_kit_again(y + 4);
    }
    for (; left > 0; left -= 4) {
        const mve_pred16_t there = vctp32q((uint32_t)left);
        vstrwq_p_f32(y, vfmasq_n_f32(vsubq_n_f32(vldrwq_z_f32(x, there), mean), factors, shift), there);
        x += 4;
        y += 4;
    }
#else
    for (; left > 0; left--) {
        *y++ = (*x++ - mean) * factor + shift;
    }
#endif
}

/*
 * output = (x - mean) / sqrt(mean of (x - mean)^2 + epsilon) * scale + bias, mean and deviation those of each group. May work in place.
 */
static void aidge_helium_normalize_groups_float32(const float *input, const float *scale, const float *bias, float *output,
                                                  const float *epsilon, const aidge_helium_groups_float32 *shape)
{
    const int32_t length = shape->length, count = shape->runs * length;
    int32_t batch, group, run;
    for (batch = 0; batch < shape->batches; batch++) {
        int32_t place = 0;
        for (group = 0; group < shape->groups; group++) {
            const float mean = aidge_helium_mean_of(input, count);
            const float inverse = aidge_helium_inverse_deviation(input, mean, *epsilon, count);
            for (run = 0; run < shape->runs; run++) {
                aidge_helium_move_float32(input, output, mean, inverse * scale[place], bias[place], length);
                input += length;
                output += length;
                place++;
            }
        }
    }
}
