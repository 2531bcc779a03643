/* SPDX-License-Identifier: 0BSD */
#include "kit/window2d.h"

/*
 * The mean of each window, int8, channels last: the sum of what lies inside the image by its number, rounded half away from zero;
 * levels: {lowest, highest} of the output, which has the scale of the input.
 */
static void aidge_ref_average_double_int8(const int8_t *input, int8_t *output, const int32_t *levels,
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
                const int32_t columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width)
                                        - first_x;
                const int32_t count = rows * columns;
                const int8_t *source = input + (top + first_y * shape->dilation_height) * in_row
                                       + (left + first_x * shape->dilation_width) * channels;
                for (channel = 0; channel < channels; channel++) {
                    int32_t sum = 0;
                    for (row = 0; row < rows; row++) {
                        const int8_t *tap = source + row * shape->dilation_height * in_row + channel;
                        for (column = columns; column > 0; column--) {
                            sum += *tap;
                            tap += shape->dilation_width * channels;
                        }
                    }
                    sum = sum < 0 ? -aidge_kit_divide(-sum + (count >> 1), count) : aidge_kit_divide(sum + (count >> 1), count);
                    sum = sum < levels[0] ? levels[0] : sum;
                    *output++ = (int8_t)(sum > levels[1] ? levels[1] : sum);
                }
            }
        }
        input += shape->in_height * in_row;
    }
}
