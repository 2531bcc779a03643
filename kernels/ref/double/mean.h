/* SPDX-License-Identifier: 0BSD */
#include "any/reduce.h"
#include "kit/mean_fixed.h"

/*
 * The mean over any axes, int8 or int16 if wide; numbers as in mean_fixed.h.
 */
static void aidge_ref_mean_double(const void *input, void *output, const int32_t *numbers, int32_t wide,
                                  const aidge_ref_reduce_shape *shape)
{
    int32_t o, i;
    for (o = 0; o < shape->outputs; o++) {
        const int32_t first = aidge_ref_kept_at(shape, o);
        int32_t sum = 0;
        for (i = 0; i < shape->count; i++) {
            const int32_t at = first + aidge_ref_reduced_at(shape, i);
            sum += wide != 0 ? ((const int16_t *)input)[at] : ((const int8_t *)input)[at];
        }
        sum = aidge_kit_fixed_mean(sum, numbers);
        if (wide != 0) {
            ((int16_t *)output)[o] = (int16_t)sum;
        } else {
            ((int8_t *)output)[o] = (int8_t)sum;
        }
    }
}
