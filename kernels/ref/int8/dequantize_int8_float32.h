/* SPDX-License-Identifier: 0BSD */
#include "shared/channels.h"
#include "shared/float_model.h"

/* output = (x - zero point) * scale, int8 to float32; scales, zero_points: [channels]. */
static void aidge_ref_dequantize_int8_float32(const int8_t *input, float *output, const float *scales,
                                              const int32_t *zero_points, const aidge_ref_channels_shape *shape)
{
    int32_t block, channel, i;
    for (block = 0; block < shape->outer; block++) {
        for (channel = 0; channel < shape->channels; channel++) {
            for (i = 0; i < shape->inner; i++) {
                *output++ = (float)(*input++ - zero_points[channel]) * scales[channel];
            }
        }
    }
}
