/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "kit/inline.h"

/* Weight number `index`; `wide`, a literal: 1 if weights are int16 and not int8. */
AIDGE_KIT_INLINE int32_t aidge_ref_weight(const int8_t *weights, int32_t index, int32_t wide)
{
    return wide != 0 ? ((const int16_t *)(const void *)weights)[index] : weights[index];
}

AIDGE_KIT_INLINE void aidge_ref_copy4(int32_t *to, const int32_t *from)
{
    to[0] = from[0];
    to[1] = from[1];
    to[2] = from[2];
    to[3] = from[3];
}

/* sums[j] += x[j] * w[j], for j < 4. */
AIDGE_KIT_INLINE void aidge_ref_taps4_int8(int32_t *sums, const int8_t *x, const int8_t *w)
{
    sums[0] += x[0] * w[0];
    sums[1] += x[1] * w[1];
    sums[2] += x[2] * w[2];
    sums[3] += x[3] * w[3];
}

/*
 * sums[j] += sum over i < count of (x[i] - zero_point) * w[4 * i + j] for j < 4: four outputs share each load of x.
 * Ranges: the generator has proved that no sum leaves int32.
 */
AIDGE_KIT_INLINE void aidge_ref_dot4_int8(const int8_t *x, const int8_t *w, int32_t count, int32_t zero_point,
                                          int32_t wide, int32_t *sums)
{
    int32_t sum0 = sums[0];
    int32_t sum1 = sums[1];
    int32_t sum2 = sums[2];
    int32_t sum3 = sums[3];
    const int8_t *end = x + (count & ~3);
    while (x != end) {
        int32_t value = x[0] - zero_point;
        sum0 += value * aidge_ref_weight(w, 0, wide);
        sum1 += value * aidge_ref_weight(w, 1, wide);
        sum2 += value * aidge_ref_weight(w, 2, wide);
        sum3 += value * aidge_ref_weight(w, 3, wide);
        value = x[1] - zero_point;
        sum0 += value * aidge_ref_weight(w, 4, wide);
        sum1 += value * aidge_ref_weight(w, 5, wide);
        sum2 += value * aidge_ref_weight(w, 6, wide);
        sum3 += value * aidge_ref_weight(w, 7, wide);
        value = x[2] - zero_point;
        sum0 += value * aidge_ref_weight(w, 8, wide);
        sum1 += value * aidge_ref_weight(w, 9, wide);
        sum2 += value * aidge_ref_weight(w, 10, wide);
        sum3 += value * aidge_ref_weight(w, 11, wide);
        value = x[3] - zero_point;
        sum0 += value * aidge_ref_weight(w, 12, wide);
        sum1 += value * aidge_ref_weight(w, 13, wide);
        sum2 += value * aidge_ref_weight(w, 14, wide);
        sum3 += value * aidge_ref_weight(w, 15, wide);
        x += 4;
        w += 16 << wide;
    }
    end = x + (count & 3);
    while (x != end) {
        int32_t value = *x++ - zero_point;
        sum0 += value * aidge_ref_weight(w, 0, wide);
        sum1 += value * aidge_ref_weight(w, 1, wide);
        sum2 += value * aidge_ref_weight(w, 2, wide);
        sum3 += value * aidge_ref_weight(w, 3, wide);
        w += 4 << wide;
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
}

/* The sum over i < count of (x[i] - zero_point) * w[i]. */
AIDGE_KIT_INLINE int32_t aidge_ref_dot_int8(const int8_t *x, const int8_t *w, int32_t count, int32_t zero_point,
                                            int32_t wide)
{
    int32_t sum = 0;
    int32_t i;
    for (i = 0; i < count; i++) {
        sum += (x[i] - zero_point) * aidge_ref_weight(w, i, wide);
    }
    return sum;
}
