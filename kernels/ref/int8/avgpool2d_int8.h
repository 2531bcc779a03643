/* SPDX-License-Identifier: 0BSD */
#include "kit/mean_in_order.h"
#include "kit/window2d.h"

/*
 * The mean of each window, int8, channels last, as in mean.h, plus the zero point, clamped.
 *
 * numbers: as in mean.h for each number of taps, those in counts: [count_kinds]; order: as in mean_in_order.h. With one kind it
 *   serves every window; taps outside the image count if counted_height is not 0: those above and left of (counted_height,
 *   counted_width).
 */
static void aidge_ref_avgpool2d_int8(const int8_t *input, int8_t *output, const int32_t *numbers, int32_t order,
                                     const int32_t *counts, int32_t count_kinds, int32_t counted_height, int32_t counted_width,
                                     const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t in_row = shape->in_width * channels;
    aidge_kit_values window;
    int32_t batch, y, x, channel, row, column;
    window.row_step = shape->dilation_height * in_row;
    window.column_step = shape->dilation_width * channels;
    for (batch = 0; batch < shape->batches; batch++) {
        for (y = 0; y < shape->out_height; y++) {
            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            window.rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            for (x = 0; x < shape->out_width; x++) {
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                const int8_t *source = input + (top + first_y * shape->dilation_height) * in_row
                                       + (left + first_x * shape->dilation_width) * channels;
                const int32_t *mean;
                int32_t taps, count;
                window.columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
                taps = window.rows * window.columns;
                count = aidge_kit_count_of_taps(taps, top, left, counted_height, counted_width, shape);
                mean = numbers + AIDGE_KIT_MEAN_NUMBERS * aidge_kit_kind_of_count(count, counts, count_kinds);
                for (channel = 0; channel < channels; channel++) {
                    int32_t sum = -taps * AIDGE_KIT_MEAN_INPUT_ZERO(mean);
                    for (row = 0; row < window.rows; row++) {
                        const int8_t *tap = source + row * window.row_step + channel;
                        for (column = window.columns; column > 0; column--) {
                            sum += *tap;
                            tap += window.column_step;
                        }
                    }
                    *output++ = aidge_kit_stored_mean(sum, source + channel, &window, count, mean, order);
                }
            }
        }
        input += shape->in_height * in_row;
    }
}
