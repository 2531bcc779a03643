/* SPDX-License-Identifier: 0BSD */
#include "rows/softmax_float32.h"

/* e^x, -87 <= x <= 0, by the polynomial of kit/exp_float32.h. */
AIDGE_CORTEXM_INLINE float aidge_cortexm_exp_below(float x)
{
    const float shifted = aidge_cortexm_shifted(x);
    const float r = aidge_cortexm_rest(x, shifted);
    float sum = 1.38165666e-3f;
    sum = aidge_kit_multiply_add(sum, r, 8.37319996e-3f);
    sum = aidge_kit_multiply_add(sum, r, 4.16685380e-2f);
    sum = aidge_kit_multiply_add(sum, r, 1.66664481e-1f);
    sum = aidge_kit_multiply_add(sum, r, 4.99999911e-1f);
    sum = 1.0f + aidge_kit_multiply_add(r * r, sum, r);
    return aidge_cortexm_scaled(sum, shifted);
}

/* output[i] = 1 / (1 + e^-x), i < count, as kit/functions_float32.h has it; 0 far below 0. May work in place. */
static void aidge_cortexm_sigmoid_float32(const float *input, float *output, int32_t count)
{
    for (; count > 0; count--) {
        const float value = *input;
        const float below = -fabsf(value);
        const float part = below < -87.0f ? 0.0f : aidge_cortexm_exp_below(below);
        const float sum = aidge_kit_exact(1.0f + part);
        const float lost = aidge_kit_exact(sum - 1.0f) - part;
        const float quotient = (value < 0.0f ? part : 1.0f) / sum;
        *output = aidge_kit_multiply_add(quotient, lost, quotient);
        input++;
        output++;
    }
}
