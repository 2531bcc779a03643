/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "kit/batches.h"
#include "kit/inline.h"
#include "kit/near.h"

/* sums[j] += sum over k of (a[k] - zero) * b[k * columns + j], j < 4: four columns share each load of a. */
AIDGE_KIT_INLINE void aidge_ref_matmul_int8_4(const int8_t *a, const int8_t *b, int32_t zero, int32_t inner, int32_t columns,
                                              int32_t *sums)
{
    int32_t sum0 = sums[0];
    int32_t sum1 = sums[1];
    int32_t sum2 = sums[2];
    int32_t sum3 = sums[3];
    const int8_t *end = a + inner;
    while (a != end) {
        const int32_t value = *a++ - zero;
        sum0 += value * b[0];
        sum1 += value * b[1];
        sum2 += value * b[2];
        sum3 += value * b[3];
        b += columns;
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
}

/* The stored value of a sum; `near`, a literal: 1 if one long product gives it. */
AIDGE_KIT_INLINE int8_t aidge_ref_matmul_int8_level(int32_t sum, float multiplier, const int32_t *levels, int32_t near)
{
    const aidge_kit_levels bounds = aidge_kit_load_levels(levels + 2);
    int32_t level = near != 0 ? aidge_kit_scale_near(sum, levels[5], multiplier) : aidge_kit_scale(sum, multiplier);
    level = level < bounds.lowest ? bounds.lowest : level;
    level = level > bounds.highest ? bounds.highest : level;
    return (int8_t)(level + bounds.zero_point);
}

/* One row of the result. `levels` as below. */
AIDGE_KIT_INLINE void aidge_ref_matmul_int8_row(const int8_t *a, const int8_t *b, int8_t *output, float multiplier,
                                                const int32_t *levels, int32_t inner, int32_t columns, int32_t near)
{
    int32_t correction = 0;
    int32_t left, k;
    for (k = 0; k < inner; k++) {
        correction -= a[k] - levels[0];
    }
    correction *= levels[1];
    for (left = columns; left >= 4; left -= 4) {
        int32_t sums[4];
        sums[0] = correction;
        sums[1] = correction;
        sums[2] = correction;
        sums[3] = correction;
        aidge_ref_matmul_int8_4(a, b, levels[0], inner, columns, sums);
        output[0] = aidge_ref_matmul_int8_level(sums[0], multiplier, levels, near);
        output[1] = aidge_ref_matmul_int8_level(sums[1], multiplier, levels, near);
        output[2] = aidge_ref_matmul_int8_level(sums[2], multiplier, levels, near);
        output[3] = aidge_ref_matmul_int8_level(sums[3], multiplier, levels, near);
        output += 4;
        b += 4;
    }
    for (; left > 0; left--) {
        int32_t sum = correction;
        for (k = 0; k < inner; k++) {
            sum += (a[k] - levels[0]) * b[k * columns];
        }
        *output++ = aidge_ref_matmul_int8_level(sum, multiplier, levels, near);
        b++;
    }
}

/*
 * output = requantize(sum over k of (first - its zero point) * (second - its zero point)), int8.
 *
 * levels: {zero point of the first, of the second, lowest - zero point, highest - zero point, zero point of the output, factor of
 * kit/near.h}.
 * Ranges: at most 2^15 - 1 products of 255 * 256 are added up.
 */
AIDGE_KIT_INLINE void aidge_ref_matmul_int8_batches(const int8_t *first, const int8_t *second, int8_t *output,
                                                    const float *multiplier, const int32_t *levels,
                                                    const aidge_kit_matrices *shape, int32_t near)
{
    int32_t place[4] = {0, 0, 0, 0};
    int32_t row;
    do {
        const int8_t *a = first;
        for (row = 0; row < shape->rows; row++) {
            aidge_ref_matmul_int8_row(a, second, output, *multiplier, levels, shape->inner, shape->columns, near);
            a += shape->inner;
            output += shape->columns;
        }
    } while (aidge_kit_next_batch(place, shape->dims, shape->first_steps, shape->second_steps, &first, &second) != 0);
}

AIDGE_KIT_NOINLINE void aidge_ref_matmul_int8(const int8_t *first, const int8_t *second, int8_t *output,
                                              const float *multiplier, const int32_t *levels,
                                              const aidge_kit_matrices *shape)
{
    aidge_ref_matmul_int8_batches(first, second, output, multiplier, levels, shape, 0);
}

/* The same without an FPU, where the factor is proved (arithmetic/near_halves.py). */
AIDGE_KIT_NOINLINE void aidge_ref_matmul_int8_near(const int8_t *first, const int8_t *second, int8_t *output,
                                                   const float *multiplier, const int32_t *levels,
                                                   const aidge_kit_matrices *shape)
{
    aidge_ref_matmul_int8_batches(first, second, output, multiplier, levels, shape, 1);
}
