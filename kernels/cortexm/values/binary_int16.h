/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include "core/target.h"
#include "kit/exact.h"

/* The C version of binary_int16.py. scales: of both terms and of the result. operation: 0 sum, 1 difference, 2 product. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_binary_int16_c(const int16_t *first, const int16_t *second, int16_t *output,
    const float *scales, int32_t count, int32_t operation, int32_t low, int32_t high)
{
    int32_t i;
    for (i = 0; i < count; i++) {
        const float a = aidge_cortexm_kept((float)first[i] * scales[0]);
        const float b = aidge_cortexm_kept((float)second[i] * scales[1]);
        const float real = aidge_cortexm_kept(operation == 0 ? a + b : operation == 1 ? a - b : a * b);
        float level = rintf(aidge_kit_exact_quotient(real, scales[2]));
        level = level < (float)low ? (float)low : level;
        output[i] = (int16_t)(level > (float)high ? (float)high : level);
    }
}
