/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "kit/broadcast.h"
#include "kit/rounding.h"

/*
 * output = clamp(rint_half_even((offset + a * first + b * second) / 2^shift) + zero point), int8, with broadcasting.
 *
 * sum: {factor a, factor b, offset, shift}; levels: {lowest, highest, zero point} of the output.
 * The generator has proved that int32 holds the sums and that all 65,536 pairs of values give the real formula's result.
 */
static void aidge_ref_add_int8(const int8_t *first, const int8_t *second, int8_t *output, const int32_t *sum,
                               const int32_t *levels, const aidge_kit_broadcast_shape *shape)
{
    const int32_t factor_a = sum[0];
    const int32_t factor_b = sum[1];
    const int32_t offset = sum[2];
    const int32_t shift = sum[3];
    const int32_t lowest = levels[0];
    const int32_t highest = levels[1];
    const int32_t zero_point = levels[2];
    const int32_t step_a = shape->first_step;
    const int32_t step_b = shape->second_step;
    aidge_kit_broadcast_place place;
    int32_t run, i;
    (void)memset(&place, 0, sizeof place);
    for (run = 0; run < shape->runs; run++) {
        const int8_t *a = first + place.first;
        const int8_t *b = second + place.second;
        for (i = shape->length; i > 0; i--) {
            int32_t level = zero_point + aidge_kit_round_shift_s32(offset + *a * factor_a + *b * factor_b, shift);
            level = level < lowest ? lowest : level;
            *output++ = (int8_t)(level > highest ? highest : level);
            a += step_a;
            b += step_b;
        }
        aidge_kit_broadcast_next(shape, &place);
    }
}
