/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "kit/inline.h"

/*
 * sums[j] += sum over i < count of (x[i] - zero_point) * w[4 * i + j] for j < 4: four outputs share each load of x.
 * Ranges: the generator has proved that no sum leaves int32.
 */
AIDGE_KIT_INLINE void aidge_ref_dot4_int8(const int8_t *x, const int8_t *w, int32_t count, int32_t zero_point, int32_t *sums)
{
    int32_t sum0 = sums[0];
    int32_t sum1 = sums[1];
    int32_t sum2 = sums[2];
    int32_t sum3 = sums[3];
    const int8_t *end = x + (count & ~3);
    while (x != end) {
        int32_t value = x[0] - zero_point;
        sum0 += value * w[0];
        sum1 += value * w[1];
        sum2 += value * w[2];
        sum3 += value * w[3];
        value = x[1] - zero_point;
        sum0 += value * w[4];
        sum1 += value * w[5];
        sum2 += value * w[6];
        sum3 += value * w[7];
        value = x[2] - zero_point;
        sum0 += value * w[8];
        sum1 += value * w[9];
        sum2 += value * w[10];
        sum3 += value * w[11];
        value = x[3] - zero_point;
        sum0 += value * w[12];
        sum1 += value * w[13];
        sum2 += value * w[14];
        sum3 += value * w[15];
        x += 4;
        w += 16;
    }
    end = x + (count & 3);
    while (x != end) {
        int32_t value = *x++ - zero_point;
        sum0 += value * w[0];
        sum1 += value * w[1];
        sum2 += value * w[2];
        sum3 += value * w[3];
        w += 4;
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
}

/* The sum over i < count of (x[i] - zero_point) * w[i]. */
AIDGE_KIT_INLINE int32_t aidge_ref_dot_int8(const int8_t *x, const int8_t *w, int32_t count, int32_t zero_point)
{
    int32_t sum = 0;
    int32_t i;
    for (i = 0; i < count; i++) {
        sum += (x[i] - zero_point) * w[i];
    }
    return sum;
}
