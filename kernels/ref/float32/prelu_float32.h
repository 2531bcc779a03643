/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "kit/broadcast.h"
#include "shared/float_model.h"

/* output = x for x >= 0, else x * slope, float32, with broadcasting. */
static void aidge_ref_prelu_float32(const float *input, const float *slope, float *output,
                                    const aidge_kit_broadcast_shape *shape)
{
    aidge_kit_broadcast_place place;
    int32_t run, i;
    (void)memset(&place, 0, sizeof place);
    for (run = 0; run < shape->runs; run++) {
        const float *x = input + place.first;
        const float *factor = slope + place.second;
        for (i = shape->length; i > 0; i--) {
            *output++ = *x < 0.0f ? *x * *factor : *x;
            x += shape->first_step;
            factor += shape->second_step;
        }
        aidge_kit_broadcast_next(shape, &place);
    }
}
