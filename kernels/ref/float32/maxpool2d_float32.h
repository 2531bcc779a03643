/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include "clamp_float32.h"
#include "kit/window2d.h"

/* The largest value of each window, float32, channels last, within bounds {lowest, highest}; taps in the pads never win. */
static void aidge_ref_maxpool2d_float32(const float *input, float *output, const float *bounds,
                                        const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t in_row = shape->in_width * channels;
    int32_t batch, y, x, channel, row, column;
    for (batch = 0; batch < shape->batches; batch++) {
        for (y = 0; y < shape->out_height; y++) {
            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            const int32_t rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            for (x = 0; x < shape->out_width; x++) {
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                const int32_t end_x = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width);
                const int32_t columns = end_x - first_x;
                const float *source = input + (top + first_y * shape->dilation_height) * in_row
                                       + (left + first_x * shape->dilation_width) * channels;
                for (channel = 0; channel < channels; channel++) {
                    float largest = -INFINITY;
                    for (row = 0; row < rows; row++) {
                        const float *tap = source + row * shape->dilation_height * in_row + channel;
                        for (column = columns; column > 0; column--) {
                            largest = *tap > largest ? *tap : largest;
                            tap += shape->dilation_width * channels;
                        }
                    }
                    *output++ = aidge_ref_clamp_float32(largest, bounds);
                }
            }
        }
        input += shape->in_height * in_row;
    }
}
