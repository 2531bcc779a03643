/* SPDX-License-Identifier: 0BSD */
#include "kit/window2d.h"

/* The mean of a sum, rounded half away from zero, or of bytes less 128 (`up`) half upwards. */
static int32_t aidge_ref_mean_of_double(int32_t sum, int32_t count, int32_t up)
{
    const int32_t half = count >> 1;
    if (up != 0) {
        return aidge_kit_divide(sum + 128 * count + half, count) - 128;
    }
    return sum < 0 ? -aidge_kit_divide(-sum + half, count) : aidge_kit_divide(sum + half, count);
}

/*
 * The mean of each window, int8 or int16 (`wide`), channels last: the sum of the values inside the image by their number; or
 * the largest of these values. levels: {lowest, highest of the output, which has the scale of the input, the result: 0 the
 * mean, halves away from zero; 1 the mean, halves upwards; 2 the largest}.
 */
static void aidge_ref_average_double(const void *input, void *output, const int32_t *levels, int32_t wide,
                                     const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t in_row = shape->in_width * channels;
    int32_t from = 0;
    int32_t to = 0;
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
                const int32_t source = from + (top + first_y * shape->dilation_height) * in_row
                                       + (left + first_x * shape->dilation_width) * channels;
                for (channel = 0; channel < channels; channel++) {
                    int32_t sum = levels[2] == 2 ? levels[0] : 0;
                    for (row = 0; row < rows; row++) {
                        int32_t tap = source + row * shape->dilation_height * in_row + channel;
                        for (column = columns; column > 0; column--) {
                            const int32_t value = wide != 0 ? ((const int16_t *)input)[tap] : ((const int8_t *)input)[tap];
                            sum = levels[2] != 2 ? sum + value : value > sum ? value : sum;
                            tap += shape->dilation_width * channels;
                        }
                    }
                    sum = levels[2] == 2 ? sum : aidge_ref_mean_of_double(sum, rows * columns, levels[2]);
                    sum = sum < levels[0] ? levels[0] : sum;
                    sum = sum > levels[1] ? levels[1] : sum;
                    if (wide != 0) {
                        ((int16_t *)output)[to] = (int16_t)sum;
                    } else {
                        ((int8_t *)output)[to] = (int8_t)sum;
                    }
                    to++;
                }
            }
        }
        from += shape->in_height * in_row;
    }
}
