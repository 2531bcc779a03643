/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "kit/broadcast.h"
#include "clamp_float32.h"

/* output = clamp(first + second) within bounds {lowest, highest}, float32, with broadcasting. */
static void aidge_ref_add_float32(const float *first, const float *second, float *output, const float *bounds,
                                  const aidge_kit_broadcast_shape *shape)
{
    aidge_kit_broadcast_place place;
    int32_t run, i;
    (void)memset(&place, 0, sizeof place);
    for (run = 0; run < shape->runs; run++) {
        const float *a = first + place.first;
        const float *b = second + place.second;
        for (i = shape->length; i > 0; i--) {
            *output++ = aidge_ref_clamp_float32(*a + *b, bounds);
            a += shape->first_step;
            b += shape->second_step;
        }
        aidge_kit_broadcast_next(shape, &place);
    }
}
