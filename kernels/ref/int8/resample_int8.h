/* SPDX-License-Identifier: 0BSD */
#include "kit/near.h"
#include "kit/resample.h"

/* The stored value of a sum. */
AIDGE_KIT_INLINE int8_t aidge_ref_resample_int8_level(int32_t sum, const float *multiplier, const int32_t *levels,
                                                      aidge_kit_levels bounds, int32_t near)
{
    if (near == 0) {
        return aidge_kit_requantize(sum, *multiplier, bounds);
    }
    sum = aidge_kit_scale_near(sum, levels[4], *multiplier);
    sum = sum < bounds.lowest ? bounds.lowest : sum;
    return (int8_t)((sum > bounds.highest ? bounds.highest : sum) + bounds.zero_point);
}

/* A run of outputs that look at four input elements each: linear weights along two axes. */
AIDGE_KIT_NOINLINE void aidge_ref_resample_int8_four(const int8_t *input, int8_t *output, const int32_t *list,
                                                     const float *multiplier, const int32_t *levels, int32_t run, int32_t near)
{
    const aidge_kit_levels bounds = aidge_kit_load_levels(levels + 1);
    const int8_t *const a = input + list[0];
    const int8_t *const b = input + list[2];
    const int8_t *const c = input + list[4];
    const int8_t *const d = input + list[6];
    const int32_t start = levels[0], of_a = list[1], of_b = list[3], of_c = list[5], of_d = list[7]; /* what output may overlap */
    int32_t i;
    AIDGE_KIT_ROLLED
    for (i = 0; i < run; i++) {
        const int32_t sum = start + a[i] * of_a + b[i] * of_b + c[i] * of_c + d[i] * of_d;
        output[i] = aidge_ref_resample_int8_level(sum, multiplier, levels, bounds, near);
    }
}

/*
 * Resizing with weights: output = requantize(sum of shares * (input - its zero point)), int8.
 *
 * offsets and shares: one list after another, for each axis [dims][taps]; offsets in elements, negative where the output is the
 * fill. scratch: {offset, share} of the elements that one output element looks at, twice. levels: {-zero point * the sum of
 * shares, lowest - zero point, highest - zero point, zero point of the output, factor of kit/near.h, stored fill}.
 */
AIDGE_KIT_INLINE void aidge_ref_resample_int8_rows(const int8_t *input, int8_t *output, void *scratch, const int32_t *offsets,
                                                   const int32_t *shares, const float *multiplier, const int32_t *levels,
                                                   const aidge_kit_resample_shape *shape, int32_t near)
{
    const aidge_kit_levels bounds = aidge_kit_load_levels(levels + 1);
    int32_t *const list = (int32_t *)scratch;
    int32_t place[5];
    const int32_t total = aidge_kit_first_resample(place, shape);
    do {
        int32_t *const end = aidge_kit_resample_list(list, offsets, shares, place, shape->taps);
        const int32_t outside = aidge_kit_resamples_outside(offsets, place);
        int32_t left;
        if ((outside == 0) && (end == list + 8)) {
            aidge_ref_resample_int8_four(input, output, list, multiplier, levels, shape->run, near);
            output += shape->run;
        } else {
            for (left = 0; left < shape->run; left++) {
                int32_t sum = levels[0];
                const int32_t *entry;
                for (entry = list; entry != end; entry += 2) {
                    sum += outside != 0 ? 0 : input[entry[0] + left] * entry[1];
                }
                *output++ = outside != 0 ? (int8_t)levels[5]
                                         : aidge_ref_resample_int8_level(sum, multiplier, levels, bounds, near);
            }
        }
    } while (aidge_kit_next_resample(place, total, shape) != 0);
}

AIDGE_KIT_NOINLINE void aidge_ref_resample_int8(const int8_t *input, int8_t *output, void *scratch, const int32_t *offsets,
                                                const int32_t *shares, const float *multiplier, const int32_t *levels,
                                                const aidge_kit_resample_shape *shape)
{
    aidge_ref_resample_int8_rows(input, output, scratch, offsets, shares, multiplier, levels, shape, 0);
}

/* The same without an FPU, where the factor is proved (arithmetic/near_halves.py). */
AIDGE_KIT_NOINLINE void aidge_ref_resample_int8_near(const int8_t *input, int8_t *output, void *scratch, const int32_t *offsets,
                                                     const int32_t *shares, const float *multiplier, const int32_t *levels,
                                                     const aidge_kit_resample_shape *shape)
{
    aidge_ref_resample_int8_rows(input, output, scratch, offsets, shares, multiplier, levels, shape, 1);
}
