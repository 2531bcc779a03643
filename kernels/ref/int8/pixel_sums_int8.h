/* SPDX-License-Identifier: 0BSD */
#include "kit/pool_part.h"

/* Adds the values of these pixels to the sums of their channels. */
static inline void aidge_ref_add_pixels(const int8_t *input, int32_t *sums, const aidge_kit_part *part)
{
    int32_t pixel, channel;
    aidge_kit_begin_part(sums, part->channels * 4, part);
    for (pixel = part->pixels; pixel > 0; pixel--) {
        for (channel = 0; channel < part->channels; channel++) {
            sums[channel] += *input++;
        }
    }
}
