/* SPDX-License-Identifier: 0BSD */
#include "clamp_float32.h"
#include "kit/pool_part.h"

/*
 * Part of the mean over the whole map, float32, channels last, within bounds {lowest, highest}: values are added one after
 * another, as aidge_ref_avgpool2d_float32 does. scratch: float [channels].
 */
static void aidge_ref_mean_part_float32(const float *input, float *output, void *scratch, const float *bounds,
                                        const aidge_kit_part *part)
{
    float *const sums = (float *)scratch;
    int32_t pixel, channel;
    aidge_kit_begin_part(sums, part->channels * 4, part);
    for (pixel = part->pixels; pixel > 0; pixel--) {
        for (channel = 0; channel < part->channels; channel++) {
            sums[channel] += *input++;
        }
    }
    for (channel = 0; (part->is_last != 0) && (channel < part->channels); channel++) {
        output[channel] = aidge_ref_clamp_float32(sums[channel] / (float)part->all, bounds);
    }
}
