/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include "../mve.h"

#if AIDGE_HELIUM_ASSEMBLY
/* The sum of the four lanes. */
AIDGE_KIT_INLINE float aidge_helium_sum_of_lanes(float32x4_t sums)
{
    return (vgetq_lane_f32(sums, 0) + vgetq_lane_f32(sums, 1)) + (vgetq_lane_f32(sums, 2) + vgetq_lane_f32(sums, 3));
}
#endif

/*
 * Rows of neighbouring float32 values: output = (x - mean) / sqrt(mean of (x - mean)^2 + epsilon) * scale + bias; without mean: of
 * squares alone. bias may be 0; epsilon points at one number. May work in place.
 */
static void aidge_helium_normalize_float32(const float *input, const float *scale, const float *bias, float *output,
                                           const float *epsilon, int32_t with_mean, int32_t rows, int32_t length)
{
    for (; rows > 0; rows--) {
        float mean = 0.0f;
        float squares = 0.0f;
        float inverse;
        int32_t i;
#if AIDGE_HELIUM_ASSEMBLY
        const int32_t whole = length & ~3;
        const mve_pred16_t rest = vctp32q((uint32_t)(length - whole)); /* lanes behind the last whole vector; none: all false */
        float32x4_t sums = vdupq_n_f32(0.0f);
        if (with_mean != 0) {
            for (i = 0; i < whole; i += 4) {
                sums = vaddq_f32(sums, vldrwq_f32(input + i));
            }
            mean = aidge_helium_sum_of_lanes(vaddq_f32(sums, vldrwq_z_f32(input + whole, rest))) / (float)length;
        }
        sums = vdupq_n_f32(0.0f);
        for (i = 0; i < whole; i += 4) {
            const float32x4_t value = vsubq_n_f32(vldrwq_f32(input + i), mean);
            sums = vfmaq_f32(sums, value, value);
        }
        {
            const float32x4_t value = vsubq_n_f32(vldrwq_z_f32(input + whole, rest), mean);
            squares = aidge_helium_sum_of_lanes(vfmaq_m_f32(sums, value, value, rest));
        }
        inverse = 1.0f / sqrtf(squares / (float)length + *epsilon);
        for (i = 0; i < whole; i += 4) {
            const float32x4_t value = vmulq_n_f32(vsubq_n_f32(vldrwq_f32(input + i), mean), inverse);
            const float32x4_t scaled = vmulq_f32(value, vldrwq_f32(scale + i));
            vstrwq_f32(output + i, bias ? vaddq_f32(scaled, vldrwq_f32(bias + i)) : scaled);
        }
        if (whole < length) {
            const float32x4_t value = vmulq_n_f32(vsubq_n_f32(vldrwq_z_f32(input + whole, rest), mean), inverse);
            const float32x4_t scaled = vmulq_f32(value, vldrwq_z_f32(scale + whole, rest));
            vstrwq_p_f32(output + whole, bias ? vaddq_f32(scaled, vldrwq_z_f32(bias + whole, rest)) : scaled, rest);
        }
#else
        for (i = 0; (with_mean != 0) && (i < length); i++) {
            mean += input[i];
        }
        mean /= (float)length;
        for (i = 0; i < length; i++) {
            squares += (input[i] - mean) * (input[i] - mean);
        }
        inverse = 1.0f / sqrtf(squares / (float)length + *epsilon);
        for (i = 0; i < length; i++) {
            output[i] = (input[i] - mean) * inverse * scale[i] + (bias ? bias[i] : 0.0f);
        }
#endif
        input += length;
        output += length;
    }
}
