/* SPDX-License-Identifier: 0BSD */
#include "clamp_float32.h"
#include "any/window3d.h"

/* One output of a convolution: channel m at position (z, y, x). */
static inline float aidge_ref_conv3d_sum(const float *input, const float *weights,
                                         const aidge_ref_window3d *shape, int32_t channels,
                                         const int32_t *at)
{
    const int32_t plane = shape->in[0] * shape->in[1] * shape->in[2];
    float sum = 0.0f;
    int32_t channel, i, j, k;
    for (channel = 0; channel < channels; channel++) {
        for (i = 0; i < shape->kernel[0]; i++) {
            const int32_t z = aidge_ref_tap3d(shape, 0, at[0], i);
            for (j = 0; j < shape->kernel[1]; j++) {
                const int32_t y = aidge_ref_tap3d(shape, 1, at[1], j);
                for (k = 0; k < shape->kernel[2]; k++) {
                    const int32_t x = aidge_ref_tap3d(shape, 2, at[2], k);
                    if ((z >= 0) && (y >= 0) && (x >= 0)) {
                        sum += input[(z * shape->in[1] + y) * shape->in[2] + x] * *weights;
                    }
                    weights++;
                }
            }
        }
        input += plane;
    }
    return sum;
}

/* Convolution over up to 3 axes with weights [out_channels][in_channels / groups][kernel...] that are known at run time only. */
static void aidge_ref_conv3d_float32(const float *input, const float *weights, const float *bias,
                                     float *output, const float *bounds,
                                     const aidge_ref_window3d *shape)
{
    const int32_t channels = shape->in_channels / shape->groups;
    const int32_t outputs = shape->out_channels / shape->groups;
    const int32_t plane = shape->in[0] * shape->in[1] * shape->in[2];
    const int32_t taps = channels * shape->kernel[0] * shape->kernel[1] * shape->kernel[2];
    int32_t batch, channel;
    int32_t at[3];
    for (batch = 0; batch < shape->batches; batch++) {
        for (channel = 0; channel < shape->out_channels; channel++) {
            const float *source = input + channel / outputs * channels * plane;
            for (at[0] = 0; at[0] < shape->out[0]; at[0]++) {
                for (at[1] = 0; at[1] < shape->out[1]; at[1]++) {
                    for (at[2] = 0; at[2] < shape->out[2]; at[2]++) {
                        const float sum = aidge_ref_conv3d_sum(source, weights + channel * taps, shape, channels, at);
                        *output++ = aidge_ref_clamp_float32(bias ? sum + bias[channel] : sum, bounds);
                    }
                }
            }
        }
        input += shape->in_channels * plane;
    }
}
