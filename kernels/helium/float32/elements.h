/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "limited.h"
#include "kit/broadcast.h"

#if !AIDGE_HELIUM_ASSEMBLY
/* y[i] = a + b, a - b, a * b or a / b (operation 0 to 3) within limits, a or below 0 a * b (4), the larger one (5) or the smaller one
 * (6); a step of 0 repeats one element. */
static void aidge_helium_binary_float32(const float *a, int32_t a_step, const float *b, int32_t b_step, float *y, int32_t count,
                                        const float *limits, int32_t operation)
{
    for (; count > 0; count--) {
        float value = *a;
        if (operation < 4) {
            value = operation == 0 ? *a + *b : operation == 1 ? *a - *b : operation == 2 ? *a * *b : *a / *b;
        } else if (operation == 4) {
            value = *a < 0.0f ? *a * *b : *a;
        } else {
            value = (operation == 5 ? *a < *b : *a > *b) || (*b != *b) ? *b : *a;
        }
        *y++ = aidge_helium_limited_float32(value, limits);
        a += a_step;
        b += b_step;
    }
}

/*
 * A function of one value within limits; numbers {alpha, beta}. operation: 0 x; 1 |x|; 2 -x; 3 x, or alpha x below 0;
 * 4 alpha x + beta within 0..1; 5 x times that.
 */
static void aidge_helium_unary_float32(const float *x, float *y, const float *numbers, int32_t count, const float *limits,
                                       int32_t operation)
{
    static const float unit[2] = {0.0f, 1.0f};
    for (; count > 0; count--) {
        const float value = *x++;
        float result = value;
        if (((operation == 1) && (value < 0.0f)) || (operation == 2)) {
            result = -value;
        } else if ((operation == 3) && (value < 0.0f)) {
            result = value * numbers[0];
        } else if (operation >= 4) {
            result = aidge_helium_limited_float32(value * numbers[0] + numbers[1], unit) * (operation == 4 ? 1.0f : value);
        } else {
            /* the value as it is */
        }
        *y++ = aidge_helium_limited_float32(result, limits);
    }
}
#endif
