/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include "target.h"

/*
 * e^x, x <= 0: 2^n e^r with n the nearest integer to x / ln 2 and |r| <= ln(2) / 2, e^r by a polynomial (off by 1.1e-7,
 * a fit of least squares).
 * 0 where a float would be subnormal; NaN stays NaN. What is added makes the sum's low bits the integer.
 */
AIDGE_CORTEXM_INLINE float aidge_cortexm_exp(float x)
{
    const float shifter = 12582912.0f;
    const float shifted = x * 1.44269504f + shifter;
    const float whole = shifted - shifter;
    float r = x - whole * 0.693359375f;
    float sum;
    uint32_t bits, power;
    r += whole * 2.12194440e-4f;
    sum = 8.31247773e-3f * r + 4.18905504e-2f;
    sum = sum * r + 1.66671157e-1f;
    sum = sum * r + 4.99992281e-1f;
    sum = sum * r + 1.0f;
    sum = sum * r + 1.0f;
    (void)memcpy(&bits, &sum, sizeof bits);
    (void)memcpy(&power, &shifted, sizeof power);
    bits += power << 23;
    (void)memcpy(&sum, &bits, sizeof sum);
    return x < -87.0f ? 0.0f : sum;
}

/* A row of neighbours. May work in place. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_softmax_row(const float *input, float *output, int32_t length)
{
    const float *from = input;
    float *to = output;
    float largest = *input;
    float sum = 0.0f;
    int32_t left = length;
    if (left >= 4) {
        largest = from[1] > largest ? from[1] : largest;
        largest = from[2] > largest ? from[2] : largest;
        largest = from[3] > largest ? from[3] : largest;
        from += 4;
        left -= 4;
    } else {
        from++;
        left--;
    }
    for (; left >= 4; left -= 4) {
        largest = from[0] > largest ? from[0] : largest;
        largest = from[1] > largest ? from[1] : largest;
        largest = from[2] > largest ? from[2] : largest;
        largest = from[3] > largest ? from[3] : largest;
        from += 4;
    }
    for (; left > 0; left--) {
        largest = *from > largest ? *from : largest;
        from++;
    }
    from = input;
    for (left = length; left > 0; left--) {
        const float part = aidge_cortexm_exp(*from - largest);
        *to = part;
        sum += part;
        from++;
        to++;
    }
    sum = 1.0f / sum;
    for (left = length; left >= 4; left -= 4) {
        output[0] *= sum;
        output[1] *= sum;
        output[2] *= sum;
        output[3] *= sum;
        output += 4;
    }
    for (; left > 0; left--) {
        *output++ *= sum;
    }
}

/* The same of rows of neighbours. */
static void aidge_cortexm_softmax_rows_float32(const float *input, float *output, int32_t rows, int32_t length)
{
    for (; rows > 0; rows--) {
        aidge_cortexm_softmax_row(input, output, length);
        input += length;
        output += length;
    }
}

/* output = e^(x - largest of the row) / sum of these: `outer` blocks of `inner` rows of `length`. May work in place. */
static void aidge_cortexm_softmax_float32(const float *input, float *output, int32_t outer, int32_t length, int32_t inner)
{
    int32_t row, left;
    for (; outer > 0; outer--) {
        for (row = inner; row > 0; row--) {
            const float *from = input;
            float *to = output;
            float largest = -INFINITY;
            float sum = 0.0f;
            for (left = length; left > 0; left--) {
                largest = *from > largest ? *from : largest;
                from += inner;
            }
            from = input;
            for (left = length; left > 0; left--) {
                const float part = aidge_cortexm_exp(*from - largest);
                *to = part;
                sum += part;
                from += inner;
                to += inner;
            }
            sum = 1.0f / sum;
            to = output;
            for (left = length; left > 0; left--) {
                *to *= sum;
                to += inner;
            }
            input++;
            output++;
        }
        input += (length - 1) * inner;
        output += (length - 1) * inner;
    }
}
