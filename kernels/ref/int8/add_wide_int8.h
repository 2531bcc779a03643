/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "kit/broadcast.h"
#include "kit/rounding.h"

/*
 * As add_int8.h in int64, for scales that int32 cannot serve exactly.
 *
 * sum: {factor a, factor b, offset, shift, divisor}: over the divisor, or over 2^shift if the divisor is 0.
 */
static void aidge_ref_add_wide_int8(const int8_t *first, const int8_t *second, int8_t *output, const int64_t *sum,
                                    const int32_t *levels, const aidge_kit_broadcast_shape *shape)
{
    aidge_kit_broadcast_place place;
    int32_t run, i;
    (void)memset(&place, 0, sizeof place);
    for (run = 0; run < shape->runs; run++) {
        const int8_t *a = first + place.first;
        const int8_t *b = second + place.second;
        for (i = 0; i < shape->length; i++) {
            const int64_t value = sum[2] + aidge_kit_multiply_s64(*a, sum[0]) + aidge_kit_multiply_s64(*b, sum[1]);
            *output++ = aidge_kit_saturate(sum[4] != 0 ? aidge_kit_round_quotient(value, sum[4])
                                                       : aidge_kit_round_shift_s64(value, (int32_t)sum[3]), levels);
            a += shape->first_step;
            b += shape->second_step;
        }
        aidge_kit_broadcast_next(shape, &place);
    }
}
