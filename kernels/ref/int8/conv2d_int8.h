/* SPDX-License-Identifier: 0BSD */
#include "conv2d_int8_pixel.h"

/*
 * Convolution with any kernel, stride, dilation, pads and groups; int8, channels last.
 *
 * weights: for each group, for each block of 4 output channels [kernel_height][kernel_width][channels][4]; the last
 *   (out_channels / groups) % 4 channels of a group follow one by one as [kernel_height][kernel_width][channels].
 * bias: [2][out_channels], as it is, and less (input zero point) * (sum of the weights) for pixels that see every tap;
 * multipliers: [out_channels], or one for all if multiplier_step is 0;
 * levels: {input zero point, lowest - zero point, highest - zero point, zero point} (the last three of the output).
 * output_gap: values that are left as they are behind the channels of each pixel.
 * Ranges: the generator has proved that no accumulator leaves int32.
 */
AIDGE_KIT_INLINE void aidge_ref_conv2d_int8_image(const int8_t *input, int8_t *output, const int8_t *weights,
                                                  const int32_t *bias, const float *multipliers, const int32_t *levels,
                                                  int32_t multiplier_step, int32_t output_gap, const aidge_kit_window2d *shape,
                                                  int32_t wide)
{
    const int32_t inputs = aidge_kit_divide(shape->in_channels, shape->groups);
    const int32_t outputs = aidge_kit_divide(shape->out_channels, shape->groups);
    aidge_ref_patch_int8 patch = aidge_ref_conv2d_int8_steps(shape);
    int32_t batch, y, x, group;
    for (batch = 0; batch < shape->batches; batch++) {
        for (y = 0; y < shape->out_height; y++) {
            for (x = 0; x < shape->out_width; x++) {
                aidge_ref_conv2d_int8_see(&patch, shape, y, x);
                for (group = 0; group < shape->groups; group++) {
                    const int8_t *const source = input + patch.source + group * inputs;
                    const int8_t *const taps = weights + ((group * outputs * patch.taps) << wide);
                    const int32_t *const biases = bias + (patch.complete ? shape->out_channels : 0) + group * outputs;
                    const float *const factors = multipliers + group * outputs * multiplier_step;
                    if (wide != 0) {
                        aidge_ref_conv2d_int8_pixel_wide(source, output, taps, biases, factors, levels, multiplier_step,
                                                         outputs, &patch);
                    } else {
                        aidge_ref_conv2d_int8_pixel(source, output, taps, biases, factors, levels, multiplier_step, outputs,
                                                    &patch);
                    }
                    output += outputs;
                }
                output += output_gap;
            }
        }
        input += shape->in_height * shape->in_width * shape->in_channels;
    }
}

static void aidge_ref_conv2d_int8(const int8_t *input, int8_t *output, const int8_t *weights, const int32_t *bias,
                                  const float *multipliers, const int32_t *levels, int32_t multiplier_step,
                                  int32_t output_gap, const aidge_kit_window2d *shape)
{
    aidge_ref_conv2d_int8_image(input, output, weights, bias, multipliers, levels, multiplier_step, output_gap, shape, 0);
}

/* The same with int16 weights. */
AIDGE_KIT_NOINLINE void aidge_ref_conv2d_int8_wide(const int8_t *input, int8_t *output, const int16_t *weights,
                                                   const int32_t *bias, const float *multipliers, const int32_t *levels,
                                                   int32_t multiplier_step, int32_t output_gap, const aidge_kit_window2d *shape)
{
    aidge_ref_conv2d_int8_image(input, output, (const int8_t *)weights, bias, multipliers, levels, multiplier_step, output_gap,
                                shape, 1);
}
