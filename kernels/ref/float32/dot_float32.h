/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "shared/float_model.h"
#include "kit/inline.h"

/* sums[j] += sum over i < count of x[i] * w[4 * i + j] for j < 4: four outputs share each load of x. */
AIDGE_KIT_INLINE void aidge_ref_dot4_float32(const float *x, const float *w, int32_t count, float *sums)
{
    float sum0 = sums[0];
    float sum1 = sums[1];
    float sum2 = sums[2];
    float sum3 = sums[3];
    const float *end = x + (count & ~1);
    while (x != end) {
        sum0 += x[0] * w[0];
        sum1 += x[0] * w[1];
        sum2 += x[0] * w[2];
        sum3 += x[0] * w[3];
        sum0 += x[1] * w[4];
        sum1 += x[1] * w[5];
        sum2 += x[1] * w[6];
        sum3 += x[1] * w[7];
        x += 2;
        w += 8;
    }
    if ((count & 1) != 0) {
        sum0 += x[0] * w[0];
        sum1 += x[0] * w[1];
        sum2 += x[0] * w[2];
        sum3 += x[0] * w[3];
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
}

/* The sum over i < count of x[i] * w[i]. */
AIDGE_KIT_INLINE float aidge_ref_dot_float32(const float *x, const float *w, int32_t count)
{
    float sum = 0.0f;
    int32_t i;
    for (i = 0; i < count; i++) {
        sum += x[i] * w[i];
    }
    return sum;
}
