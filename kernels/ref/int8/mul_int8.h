/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "kit/broadcast.h"
#include "kit/rounding.h"

/*
 * output = clamp(rint_half_even((a - za) * (b - zb) * ratio) + zero point), int8, with broadcasting.
 *
 * rescale: the ratio as in rounding.h; zero_points: {za, zb}; levels: {lowest, highest, zero point} of the output.
 * The generator has proved that all 65,536 pairs of values give the real formula's result.
 */
static void aidge_ref_mul_int8(const int8_t *first, const int8_t *second, int8_t *output, const int64_t *rescale,
                               const int32_t *zero_points, const int32_t *levels, const aidge_kit_broadcast_shape *shape)
{
    const int32_t zero_a = zero_points[0];
    const int32_t zero_b = zero_points[1];
    aidge_kit_broadcast_place place;
    int32_t run, i;
    (void)memset(&place, 0, sizeof place);
    for (run = 0; run < shape->runs; run++) {
        const int8_t *a = first + place.first;
        const int8_t *b = second + place.second;
        for (i = 0; i < shape->length; i++) {
            *output++ = aidge_kit_saturate(aidge_kit_rescale((*a - zero_a) * (*b - zero_b), rescale), levels);
            a += shape->first_step;
            b += shape->second_step;
        }
        aidge_kit_broadcast_next(shape, &place);
    }
}
