/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include "shared/channels.h"
#include "shared/float_model.h"

/* output = x / (bias + factor * sum of squares of the channels from -before to +after)^beta; numbers: {bias, factor, beta}. */
static void aidge_ref_lrn_float32(const float *input, float *output, const float *numbers, int32_t before, int32_t after,
                                  const aidge_ref_channels_shape *shape)
{
    const int32_t inner = shape->inner;
    int32_t block, channel, i, other;
    for (block = 0; block < shape->outer; block++) {
        for (channel = 0; channel < shape->channels; channel++) {
            const int32_t first = channel - before < 0 ? 0 : channel - before;
            const int32_t last = channel + after >= shape->channels ? shape->channels - 1 : channel + after;
            for (i = 0; i < inner; i++) {
                float sum = 0.0f;
                for (other = first; other <= last; other++) {
                    sum += input[other * inner + i] * input[other * inner + i];
                }
                *output++ = input[channel * inner + i] / powf(numbers[0] + numbers[1] * sum, numbers[2]);
            }
        }
        input += shape->channels * inner;
    }
}
