/* SPDX-License-Identifier: 0BSD */
#include "kit/mean_in_order.h"
#include "kit/window2d.h"

enum { AIDGE_REF_MEAN_TAPS = 16 }; /* of a window whose places are looked up */

/* The sum of the values at one place behind each of these. */
AIDGE_KIT_INLINE int32_t aidge_ref_sum_at(const int8_t *const *taps, int32_t count, int32_t place, int32_t sum)
{
    for (; count > 0; count--) {
        sum += (*taps++)[place];
    }
    return sum;
}

/* Writes the places of the values of a window to `taps`. */
AIDGE_KIT_NOINLINE void aidge_ref_mean_taps(const int8_t *source, const aidge_kit_values *window, const int8_t **taps)
{
    int32_t row, column;
    for (row = window->rows; row > 0; row--) {
        const int8_t *tap = source;
        for (column = window->columns; column > 0; column--) {
            *taps++ = tap;
            tap += window->column_step;
        }
        source += window->row_step;
    }
}

/* sum plus `count` values that lie `step` bytes apart. */
AIDGE_KIT_INLINE int32_t aidge_ref_sum_of_values(const int8_t *value, int32_t step, int32_t count, int32_t sum)
{
    for (; count >= 4; count -= 4) {
        sum += value[0];
        sum += value[step];
        sum += value[2 * step];
        sum += value[3 * step];
        value += 4 * step;
    }
    for (; count > 0; count--) {
        sum += *value;
        value += step;
    }
    return sum;
}

/* The sum of all values of a window; rows that lie behind each other are one. */
AIDGE_KIT_INLINE int32_t aidge_ref_sum_of_window(const int8_t *source, const aidge_kit_values *window, int32_t sum)
{
    const int32_t columns = window->columns;
    int32_t row;
    if (window->row_step == columns * window->column_step) {
        return aidge_ref_sum_of_values(source, window->column_step, window->rows * columns, sum);
    }
    for (row = window->rows; row > 0; row--) {
        sum = aidge_ref_sum_of_values(source, window->column_step, columns, sum);
        source += window->row_step;
    }
    return sum;
}

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
    const int8_t *places[AIDGE_REF_MEAN_TAPS];
    int32_t batch, y, x, channel;
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
                int32_t taps, count, zero, is_small;
                window.columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
                taps = window.rows * window.columns;
                count = aidge_kit_count_of_taps(taps, top, left, counted_height, counted_width, shape);
                mean = numbers + AIDGE_KIT_MEAN_NUMBERS * aidge_kit_kind_of_count(count, counts, count_kinds);
                zero = -taps * AIDGE_KIT_MEAN_INPUT_ZERO(mean);
                is_small = ((window.columns < 4) && (window.rows > 1) && (taps <= AIDGE_REF_MEAN_TAPS)) ? 1 : 0;
                if (is_small != 0) {
                    aidge_ref_mean_taps(source, &window, places);
                }
                for (channel = 0; channel < channels; channel++) {
                    const int32_t sum = is_small != 0 ? aidge_ref_sum_at(places, taps, channel, zero)
                                                      : aidge_ref_sum_of_window(source + channel, &window, zero);
                    *output++ = aidge_kit_stored_mean(sum, source + channel, &window, count, mean, order);
                }
            }
        }
        input += shape->in_height * in_row;
    }
}
