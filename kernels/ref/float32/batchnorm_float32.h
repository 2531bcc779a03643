/* SPDX-License-Identifier: 0BSD */
#include "shared/channels.h"
#include "clamp_float32.h"

/* output = clamp((x - mean) * factor + bias) for each channel, float32; numbers: [channels]{mean, factor, bias}. */
static void aidge_ref_batchnorm_float32(const float *input, float *output, const float *numbers, const float *bounds,
                                        const aidge_ref_channels_shape *shape)
{
    int32_t block, channel, i;
    for (block = 0; block < shape->outer; block++) {
        const float *of_channel = numbers;
        for (channel = 0; channel < shape->channels; channel++) {
            for (i = 0; i < shape->inner; i++) {
                *output++ = aidge_ref_clamp_float32((*input++ - of_channel[0]) * of_channel[1] + of_channel[2], bounds);
            }
            of_channel += 3;
        }
    }
}
