/* SPDX-License-Identifier: 0BSD */
#include "kit/rounding.h"
#include "kit/window2d.h"

/*
 * The mean of each window, int8, channels last: clamp(rint_half_even(sum of (x - input zero point) * ratio) + zero point).
 *
 * rescale: the ratio as in rounding.h for each number of taps, the numbers in counts: [count_kinds]; with one kind it
 *   serves every window; taps outside the image count if counted_height is not 0: those above and left of
 *   (counted_height, counted_width); levels: {lowest, highest, zero point} of the output, input zero point.
 * The generator has proved the result equal to the real formula for every sum that can occur.
 */
static void aidge_ref_avgpool2d_int8(const int8_t *input, int8_t *output, const int64_t *rescale, const int32_t *counts,
                                     const int32_t *levels, int32_t count_kinds, int32_t counted_height, int32_t counted_width,
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
                const int8_t *source = input + (top + first_y * shape->dilation_height) * in_row
                                       + (left + first_x * shape->dilation_width) * channels;
                const int32_t offset = rows * columns * levels[3];
                const int32_t count = aidge_kit_count_of_taps(rows * columns, top, left, counted_height, counted_width, shape);
                const int32_t kind = aidge_kit_kind_of_count(count, counts, count_kinds);
                for (channel = 0; channel < channels; channel++) {
                    int32_t sum = -offset;
                    for (row = 0; row < rows; row++) {
                        const int8_t *tap = source + row * shape->dilation_height * in_row + channel;
                        for (column = columns; column > 0; column--) {
                            sum += *tap;
                            tap += shape->dilation_width * channels;
                        }
                    }
                    *output++ = aidge_kit_saturate(aidge_kit_rescale(sum, rescale + 3 * kind), levels);
                }
            }
        }
        input += shape->in_height * in_row;
    }
}
