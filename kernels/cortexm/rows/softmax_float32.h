/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include "core/target.h"
#include "kit/exp_float32.h"

#define AIDGE_CORTEXM_LOWEST_POWER (0x4B400000 - 125) /* such a sum: of two, where e^x is no subnormal float */

/* x / ln 2 + AIDGE_KIT_SHIFTER. */
AIDGE_CORTEXM_INLINE float aidge_cortexm_shifted(float x)
{
    return aidge_kit_exact(aidge_kit_multiply_add(x, 1.44269504f, AIDGE_KIT_SHIFTER));
}

/* x less n ln 2, n of aidge_cortexm_shifted(x). */
AIDGE_CORTEXM_INLINE float aidge_cortexm_rest(float x, float shifted)
{
    const float whole = shifted - AIDGE_KIT_SHIFTER;
    const float r = aidge_kit_multiply_add(whole, -0.693359375f, x); /* exact: the factor has few bits */
    return aidge_kit_multiply_add(whole, 2.12194440e-4f, r);
}

/* value * 2^n, n of aidge_cortexm_shifted(x). */
AIDGE_CORTEXM_INLINE float aidge_cortexm_scaled(float value, float shifted)
{
    uint32_t bits, power;
    (void)memcpy(&bits, &value, sizeof bits);
    (void)memcpy(&power, &shifted, sizeof power);
    bits += power << 23;
    (void)memcpy(&value, &bits, sizeof value);
    return value;
}

/* e^x of x and aidge_cortexm_shifted(x). */
AIDGE_CORTEXM_INLINE float aidge_cortexm_power(float x, float shifted)
{
    const float r = aidge_cortexm_rest(x, shifted);
    float sum = 8.23778566e-3f;
    sum = aidge_kit_multiply_add(sum, r, 4.18991297e-2f);
    sum = aidge_kit_multiply_add(sum, r, 1.66685566e-1f);
    sum = aidge_kit_multiply_add(sum, r, 4.99991387e-1f);
    sum = aidge_kit_multiply_add(sum, r, 9.99999344e-1f);
    sum = aidge_kit_multiply_add(sum, r, 1.0f);
    return aidge_cortexm_scaled(sum, shifted);
}

/*
 * e^x, x <= 0: 2^n e^r with n the nearest integer to x / ln 2 and |r| <= ln(2) / 2, e^r by a polynomial (off by one of the last
 * place at most, a fit of the least largest error). 0 where a float would be subnormal; NaN stays NaN.
 */
AIDGE_CORTEXM_INLINE float aidge_cortexm_exp(float x)
{
    const float power = aidge_cortexm_power(x, aidge_cortexm_shifted(x));
    return x < -87.0f ? 0.0f : power;
}

/* Returns the largest of `length` values, `step` apart. */
AIDGE_CORTEXM_INLINE float aidge_cortexm_largest(const float *from, int32_t length, int32_t step)
{
    float largest = *from;
    int32_t left;
    for (left = length; left >= 4; left -= 4) {
        largest = from[0] > largest ? from[0] : largest;
        largest = from[step] > largest ? from[step] : largest;
        largest = from[2 * step] > largest ? from[2 * step] : largest;
        largest = from[3 * step] > largest ? from[3 * step] : largest;
        from += 4 * step;
    }
    for (; left > 0; left--) {
        largest = *from > largest ? *from : largest;
        from += step;
    }
    return largest;
}

/* A row of values, `step` apart. May work in place. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_softmax_row(const float *input, float *output, int32_t length, int32_t step)
{
    const float largest = aidge_cortexm_largest(input, length, step);
    float *to = output;
    float sum = 0.0f;
    int32_t left;
    for (left = length; left > 0; left--) {
        const float part = aidge_cortexm_exp(*input - largest);
        *to = part;
        sum += part;
        input += step;
        to += step;
    }
    sum = 1.0f / sum;
    for (left = length; left >= 4; left -= 4) {
        output[0] *= sum;
        output[step] *= sum;
        output[2 * step] *= sum;
        output[3 * step] *= sum;
        output += 4 * step;
    }
    for (; left > 0; left--) {
        *output *= sum;
        output += step;
    }
}

/* output = e^(x - largest of the row) / sum of these, of rows of neighbours. May work in place. */
static void aidge_cortexm_softmax_rows_float32(const float *input, float *output, int32_t rows, int32_t length)
{
    for (; rows > 0; rows--) {
        aidge_cortexm_softmax_row(input, output, length, 1);
        input += length;
        output += length;
    }
}

/* The same of `outer` blocks of `inner` rows of `length`. */
static void aidge_cortexm_softmax_float32(const float *input, float *output, int32_t outer, int32_t length, int32_t inner)
{
    int32_t row;
    for (; outer > 0; outer--) {
        for (row = inner; row > 0; row--) {
            aidge_cortexm_softmax_row(input++, output++, length, inner);
        }
        input += (length - 1) * inner;
        output += (length - 1) * inner;
    }
}

/* output = x - largest of the row - ln(sum of e^(x - largest)), of rows of neighbours. May work in place. */
AIDGE_CORTEXM_UNUSED
static void aidge_cortexm_log_softmax_float32(const float *input, float *output, int32_t rows, int32_t length)
{
    for (; rows > 0; rows--) {
        const float largest = aidge_cortexm_largest(input, length, 1);
        float sum = 0.0f;
        int32_t index;
        for (index = 0; index < length; index++) {
            const float below = input[index] - largest;
            const float shifted = aidge_cortexm_shifted(below);
            int32_t power;
            (void)memcpy(&power, &shifted, sizeof power);
            if (power >= AIDGE_CORTEXM_LOWEST_POWER) {
                sum += aidge_cortexm_power(below, shifted);
            }
        }
        sum = logf(sum);
        for (index = 0; index < length; index++) {
            *output++ = aidge_kit_exact(*input++ - largest) - sum;
        }
    }
}
