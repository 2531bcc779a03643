/* SPDX-License-Identifier: 0BSD */
#include "core/mve.h"
#include "kit/pool_part.h"

/* Four values within limits {lowest, highest}; NaN stays NaN. */
AIDGE_KIT_INLINE float32x4_t aidge_helium_limited_4(float32x4_t values, const float *limits)
{
    values = vdupq_m_n_f32(values, limits[0], vcmpltq_n_f32(values, limits[0]));
    return vdupq_m_n_f32(values, limits[1], vcmpgtq_n_f32(values, limits[1]));
}

/*
 * Part of the mean over the whole map, float32, channels last, within limits {lowest, highest}: values are added one after
 * another and the sum is multiplied, as in pool.h. scratch: float [channels].
 */
static void aidge_helium_mean_part_float32(const float *input, float *output, void *scratch, const float *limits,
                                           const aidge_kit_part *part)
{
    const int32_t channels = part->channels;
    const float factor = 1.0f / (float)part->all;
    float *const sums = (float *)scratch;
    int32_t channel, pixel;
    aidge_kit_begin_part(sums, channels * 4, part);
    AIDGE_KIT_ROLLED
    for (channel = 0; channel < channels; channel += 4) {
        const mve_pred16_t mask = vctp32q((uint32_t)(channels - channel));
        const float *tap = input + channel;
        float32x4_t sum = vldrwq_z_f32(sums + channel, mask);
        for (pixel = part->pixels; pixel > 0; pixel--) {
            sum = vaddq_f32(sum, vldrwq_z_f32(tap, mask));
            tap += channels;
        }
        vstrwq_p_f32(sums + channel, sum, mask);
        if (part->is_last != 0) {
            vstrwq_p_f32(output + channel, aidge_helium_limited_4(vmulq_n_f32(sum, factor), limits), mask);
        }
    }
}
