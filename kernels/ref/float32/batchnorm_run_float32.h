/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include "shared/channels.h"
#include "clamp_float32.h"

/* output = clamp((x - mean) / sqrt(variance + epsilon) * scale + bias), all parameters at run time; float32. */
static void aidge_ref_batchnorm_run_float32(const float *input, const float *scale, const float *bias, const float *mean,
                                            const float *variance, float *output, const float *epsilon, const float *bounds,
                                            const aidge_ref_channels_shape *shape)
{
    int32_t block, channel, i;
    for (block = 0; block < shape->outer; block++) {
        for (channel = 0; channel < shape->channels; channel++) {
            const float factor = scale[channel] / sqrtf(variance[channel] + *epsilon);
            for (i = 0; i < shape->inner; i++) {
                *output++ = aidge_ref_clamp_float32((*input++ - mean[channel]) * factor + bias[channel], bounds);
            }
        }
    }
}
