/* SPDX-License-Identifier: 0BSD */
#include "clamp_float32.h"
#include "any/window3d.h"

/* The input position whose tap falls on an output position, or -1 when there is none. */
static inline int32_t aidge_ref_source3d(const aidge_ref_window3d *shape, int32_t axis, int32_t out, int32_t tap)
{
    const int32_t place = out + shape->pads[axis] - tap * shape->dilations[axis];
    if ((place < 0) || (place % shape->strides[axis] != 0) || (place / shape->strides[axis] >= shape->in[axis])) {
        return -1;
    }
    return place / shape->strides[axis];
}

/* One output of a transposed convolution; `weights` are those of the output channel and the group's first input channel. */
static inline float aidge_ref_convtranspose3d_sum(const float *input, const float *weights, const aidge_ref_window3d *shape,
                                                  int32_t channels, int32_t weight_step, const int32_t *at)
{
    const int32_t plane = shape->in[0] * shape->in[1] * shape->in[2];
    float sum = 0.0f;
    int32_t channel, i, j, k;
    for (i = 0; i < shape->kernel[0]; i++) {
        const int32_t z = aidge_ref_source3d(shape, 0, at[0], i);
        for (j = 0; j < shape->kernel[1]; j++) {
            const int32_t y = aidge_ref_source3d(shape, 1, at[1], j);
            for (k = 0; k < shape->kernel[2]; k++) {
                const int32_t x = aidge_ref_source3d(shape, 2, at[2], k);
                if ((z >= 0) && (y >= 0) && (x >= 0)) {
                    const float *from = input + (z * shape->in[1] + y) * shape->in[2] + x;
                    const float *weight = weights + (i * shape->kernel[1] + j) * shape->kernel[2] + k;
                    for (channel = 0; channel < channels; channel++) {
                        sum += from[channel * plane] * weight[channel * weight_step];
                    }
                }
            }
        }
    }
    return sum;
}

/* Transposed convolution over up to 3 axes; weights [in_channels][out_channels / groups][kernel...]; bias may be 0; float32. */
static void aidge_ref_convtranspose3d_float32(const float *input, const float *weights, const float *bias, float *output,
                                              const float *bounds, const aidge_ref_window3d *shape)
{
    const int32_t channels = shape->in_channels / shape->groups;
    const int32_t outputs = shape->out_channels / shape->groups;
    const int32_t plane = shape->in[0] * shape->in[1] * shape->in[2];
    const int32_t taps = shape->kernel[0] * shape->kernel[1] * shape->kernel[2];
    int32_t batch, channel;
    int32_t at[3];
    for (batch = 0; batch < shape->batches; batch++) {
        for (channel = 0; channel < shape->out_channels; channel++) {
            const int32_t first = channel / outputs * channels;
            const float *own = weights + (first * outputs + channel % outputs) * taps;
            for (at[0] = 0; at[0] < shape->out[0]; at[0]++) {
                for (at[1] = 0; at[1] < shape->out[1]; at[1]++) {
                    for (at[2] = 0; at[2] < shape->out[2]; at[2]++) {
                        const float sum = aidge_ref_convtranspose3d_sum(input + first * plane, own, shape,
                                channels, outputs * taps, at);
                        *output++ = aidge_ref_clamp_float32(bias ? sum + bias[channel] : sum, bounds);
                    }
                }
            }
        }
        input += shape->in_channels * plane;
    }
}
