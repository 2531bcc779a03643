/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include "shared/channels.h"
#include "shared/float_model.h"

/* Batch normalization with the batch's own statistics, and the running ones; numbers: {epsilon, momentum}; float32. */
static void aidge_ref_batchnorm_train_float32(const float *input, const float *scale, const float *bias, const float *mean,
                                              const float *variance, float *output, float *running_mean, float *running_variance,
                                              const float *numbers, const aidge_ref_channels_shape *shape)
{
    const float count = (float)(shape->outer * shape->inner);
    const int32_t block_size = shape->channels * shape->inner;
    int32_t block, channel, i;
    for (channel = 0; channel < shape->channels; channel++) {
        const int32_t first = channel * shape->inner;
        float own_mean = 0.0f;
        float own_variance = 0.0f;
        float factor;
        for (block = 0; block < shape->outer; block++) {
            for (i = 0; i < shape->inner; i++) {
                own_mean += input[block * block_size + first + i];
            }
        }
        own_mean /= count;
        for (block = 0; block < shape->outer; block++) {
            for (i = 0; i < shape->inner; i++) {
                const float x = input[block * block_size + first + i] - own_mean;
                own_variance += x * x;
            }
        }
        own_variance /= count;
        factor = scale[channel] / sqrtf(own_variance + numbers[0]);
        for (block = 0; block < shape->outer; block++) {
            for (i = 0; i < shape->inner; i++) {
                const int32_t place = block * block_size + first + i;
                output[place] = (input[place] - own_mean) * factor + bias[channel];
            }
        }
        running_mean[channel] = mean[channel] * numbers[1] + own_mean * (1.0f - numbers[1]);
        running_variance[channel] = variance[channel] * numbers[1] + own_variance * (1.0f - numbers[1]);
    }
}
