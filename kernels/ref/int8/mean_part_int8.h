/* SPDX-License-Identifier: 0BSD */
#include "kit/mean_part.h"
#include "pixel_sums_int8.h"

/* Part of the mean over the whole map, int8, channels last; scratch: int32 [channels]; numbers as in mean.h. */
static void aidge_ref_mean_part_int8(const int8_t *input, int8_t *output, void *scratch, const int32_t *numbers,
    const aidge_kit_part *part)
{
    int32_t *const sums = (int32_t *)scratch;
    int32_t channel;
    aidge_ref_add_pixels(input, sums, part);
    for (channel = 0; (part->is_last != 0) && (channel < part->channels); channel++) {
        output[channel] = aidge_kit_mean_of_sum(sums[channel], numbers, part);
    }
}
