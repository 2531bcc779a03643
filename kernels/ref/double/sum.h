/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "kit/broadcast.h"
#include "kit/fixed.h"

/* (value - zero point) * 2^20 in units of both addends; scale = {zero point, multiplier, shift}. */
static inline int32_t aidge_ref_addend_double(int32_t value, const int32_t *scale)
{
    return aidge_kit_scale_fixed((int32_t)((uint32_t)(value - scale[0]) << 20), scale[1], scale[2]);
}

/*
 * output = clamp(first + second) or, with sign -1, clamp(first - second); int8, with broadcasting.
 *
 * scales: {zero point, multiplier, shift} of first, second and output; levels: {lowest, highest} of the output.
 */
static void aidge_ref_sum_double_int8(const int8_t *first, const int8_t *second, int8_t *output, const int32_t *scales,
                                      const int32_t *levels, int32_t sign, const aidge_kit_broadcast_shape *shape)
{
    aidge_kit_broadcast_place place;
    int32_t run, i;
    (void)memset(&place, 0, sizeof place);
    for (run = 0; run < shape->runs; run++) {
        const int8_t *a = first + place.first;
        const int8_t *b = second + place.second;
        for (i = shape->length; i > 0; i--) {
            const int32_t sum = aidge_ref_addend_double(*a, scales)
                                + aidge_ref_addend_double(sign * (*b - scales[3]) + scales[3], scales + 3);
            int32_t level = aidge_kit_scale_fixed(sum, scales[7], scales[8]) + scales[6];
            level = level < levels[0] ? levels[0] : level;
            *output++ = (int8_t)(level > levels[1] ? levels[1] : level);
            a += shape->first_step;
            b += shape->second_step;
        }
        aidge_kit_broadcast_next(shape, &place);
    }
}
