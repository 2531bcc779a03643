/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include "core/mve.h"

/*
 * e^x of four values x <= 0: 2^n e^r with n the nearest integer to x / ln 2 and |r| <= ln(2) / 2, e^r by a polynomial (off by one
 * of the last place at most, a fit of the least largest error). 0 where a float would be subnormal; NaN stays NaN.
 */
AIDGE_KIT_INLINE float32x4_t aidge_helium_exp_4(float32x4_t x)
{
    const int32x4_t n = vcvtnq_s32_f32(vmulq_n_f32(x, 1.44269504f));
    const float32x4_t whole = vcvtq_f32_s32(n);
    float32x4_t r = vfmaq_n_f32(x, whole, -0.693359375f);
    float32x4_t sum;
    r = vfmaq_n_f32(r, whole, 2.12194440e-4f);
    sum = vfmasq_n_f32(vdupq_n_f32(8.23778566e-3f), r, 4.18991297e-2f);
    sum = vfmasq_n_f32(sum, r, 1.66685566e-1f);
    sum = vfmasq_n_f32(sum, r, 4.99991387e-1f);
    sum = vfmasq_n_f32(sum, r, 9.99999344e-1f);
    sum = vfmasq_n_f32(sum, r, 1.0f);
    sum = vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(sum), vshlq_n_s32(n, 23)));
    return vdupq_m_n_f32(sum, 0.0f, vcmpltq_n_f32(x, -87.0f));
}

/* `rows` of at most 4 rows whose elements lie `inner` apart, each in a lane. */
AIDGE_KIT_NOINLINE void aidge_helium_softmax_lanes_float32(const float *input, float *output, int32_t length, int32_t inner, int32_t rows)
{
    const mve_pred16_t mask = vctp32q((uint32_t)rows);
    float32x4_t largest = vdupq_n_f32(-INFINITY);
    float32x4_t sums = vdupq_n_f32(0.0f);
    const float *from = input;
    float *to = output;
    int32_t i;
    for (i = length; i > 0; i--) {
        largest = vmaxnmq_f32(largest, vldrwq_z_f32(from, mask));
        from += inner;
    }
    for (i = length; i > 0; i--) {
        const float32x4_t part = aidge_helium_exp_4(vsubq_f32(vldrwq_z_f32(input, mask), largest));
        sums = vaddq_f32(sums, part);
        vstrwq_p_f32(to, part, mask);
        input += inner;
        to += inner;
    }
    sums = vsetq_lane_f32(1.0f / vgetq_lane_f32(sums, 0), sums, 0);
    sums = vsetq_lane_f32(1.0f / vgetq_lane_f32(sums, 1), sums, 1);
    sums = vsetq_lane_f32(1.0f / vgetq_lane_f32(sums, 2), sums, 2);
    sums = vsetq_lane_f32(1.0f / vgetq_lane_f32(sums, 3), sums, 3);
    for (i = length; i > 0; i--) {
        vstrwq_p_f32(output, vmulq_f32(vldrwq_z_f32(output, mask), sums), mask);
        output += inner;
    }
}

/* output = e^(x - largest of the row) / sum of these over the row: `outer` blocks of `inner` rows of `length`. May work in place. */
static void aidge_helium_softmax_float32(const float *input, float *output, int32_t outer, int32_t length, int32_t inner)
{
    int32_t left;
    for (; outer > 0; outer--) {
        for (left = inner; left > 0; left -= 4) {
            const int32_t rows = left < 4 ? left : 4;
            aidge_helium_softmax_lanes_float32(input, output, length, inner, rows);
            input += rows;
            output += rows;
        }
        input += (length - 1) * inner;
        output += (length - 1) * inner;
    }
}
