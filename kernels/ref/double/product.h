/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "kit/broadcast.h"
#include "kit/fixed.h"

/*
 * output = clamp(first * second), int8, with broadcasting.
 *
 * numbers: {zero point of first, of second, of the output, multiplier, shift, lowest, highest stored value of the output}.
 */
static void aidge_ref_product_double_int8(const int8_t *first, const int8_t *second, int8_t *output, const int32_t *numbers,
                                          const aidge_kit_broadcast_shape *shape)
{
    aidge_kit_broadcast_place place;
    int32_t run, i;
    (void)memset(&place, 0, sizeof place);
    for (run = 0; run < shape->runs; run++) {
        const int8_t *a = first + place.first;
        const int8_t *b = second + place.second;
        for (i = shape->length; i > 0; i--) {
            const int32_t product = (*a - numbers[0]) * (*b - numbers[1]);
            int32_t level = aidge_kit_scale_fixed(product, numbers[3], numbers[4]) + numbers[2];
            level = level < numbers[5] ? numbers[5] : level;
            *output++ = (int8_t)(level > numbers[6] ? numbers[6] : level);
            a += shape->first_step;
            b += shape->second_step;
        }
        aidge_kit_broadcast_next(shape, &place);
    }
}
