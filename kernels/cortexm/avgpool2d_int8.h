/* SPDX-License-Identifier: 0BSD */
#include "kit/mean_in_order.h"
#include "kit/window2d.h"
#include "lanes.h"

typedef struct {
    aidge_kit_values window;
    int32_t count; /* of the values that the mean counts */
    const int32_t *numbers;
    int32_t order;
    int32_t offset; /* minus the zero points of the taps */
} aidge_cortexm_mean2d;

/* The stored value of a sum. */
AIDGE_KIT_NOINLINE int8_t aidge_cortexm_mean2d_of(int32_t sum, const int8_t *first, const aidge_cortexm_mean2d *mean)
{
    return aidge_kit_stored_mean(sum + mean->offset, first, &mean->window, mean->count, mean->numbers, mean->order);
}

/* Sums of bytes 0 and 2, and of bytes 1 and 3, of the window at `first` as four stored values. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_store_means(int8_t *output, uint32_t even, uint32_t odd, const int8_t *first,
                                                    const aidge_cortexm_mean2d *mean)
{
    output[0] = aidge_cortexm_mean2d_of(aidge_cortexm_low(even), first, mean);
    output[1] = aidge_cortexm_mean2d_of(aidge_cortexm_low(odd), first + 1, mean);
    output[2] = aidge_cortexm_mean2d_of(aidge_cortexm_high(even), first + 2, mean);
    output[3] = aidge_cortexm_mean2d_of(aidge_cortexm_high(odd), first + 3, mean);
}

/* The means of the window's values of 8 channels. */
static void aidge_cortexm_means_of_8(const int8_t *source, int8_t *output, const aidge_cortexm_mean2d *mean)
{
    const int32_t step = mean->window.column_step;
    const int8_t *first = source;
    uint32_t even[2] = {0, 0};
    uint32_t odd[2] = {0, 0};
    int32_t row, column;
    for (row = mean->window.rows; row > 0; row--) {
        const int8_t *tap = source;
        for (column = mean->window.columns; column > 0; column--) {
            const uint32_t word = aidge_cortexm_load(tap);
            const uint32_t next = aidge_cortexm_load(tap + 4);
            even[0] = aidge_cortexm_add_even_bytes(even[0], word);
            odd[0] = aidge_cortexm_add_odd_bytes(odd[0], word);
            even[1] = aidge_cortexm_add_even_bytes(even[1], next);
            odd[1] = aidge_cortexm_add_odd_bytes(odd[1], next);
            tap += step;
        }
        source += mean->window.row_step;
    }
    aidge_cortexm_store_means(output, even[0], odd[0], first, mean);
    aidge_cortexm_store_means(output + 4, even[1], odd[1], first + 4, mean);
}

/* The same of 4 channels. */
static void aidge_cortexm_means_of_4(const int8_t *source, int8_t *output, const aidge_cortexm_mean2d *mean)
{
    const int8_t *first = source;
    uint32_t even = 0;
    uint32_t odd = 0;
    int32_t row, column;
    for (row = mean->window.rows; row > 0; row--) {
        const int8_t *tap = source;
        for (column = mean->window.columns; column > 0; column--) {
            const uint32_t word = aidge_cortexm_load(tap);
            even = aidge_cortexm_add_even_bytes(even, word);
            odd = aidge_cortexm_add_odd_bytes(odd, word);
            tap += mean->window.column_step;
        }
        source += mean->window.row_step;
    }
    aidge_cortexm_store_means(output, even, odd, first, mean);
}

/*
 * The mean of each window of at most 255 taps, int8, channels last, at least 4 channels, as in mean.h.
 *
 * numbers: as in mean.h for each number of taps in counts: [count_kinds]; order: as in mean_in_order.h; taps outside the
 * image count if counted_height is not 0: those above and left of (counted_height, counted_width).
 */
static void aidge_cortexm_avgpool2d_int8(const int8_t *input, int8_t *output, const int32_t *numbers, int32_t order,
                                         const int32_t *counts, int32_t count_kinds, int32_t counted_height,
                                         int32_t counted_width, const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t in_row = shape->in_width * channels;
    aidge_cortexm_mean2d mean;
    int32_t batch, y, x, channel;
    mean.window.row_step = shape->dilation_height * in_row;
    mean.window.column_step = shape->dilation_width * channels;
    mean.order = order;
    for (batch = 0; batch < shape->batches; batch++) {
        for (y = 0; y < shape->out_height; y++) {
            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            mean.window.rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            for (x = 0; x < shape->out_width; x++) {
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                const int8_t *source = input + (top + first_y * shape->dilation_height) * in_row
                                       + (left + first_x * shape->dilation_width) * channels;
                int32_t taps;
                mean.window.columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width)
                                      - first_x;
                taps = mean.window.rows * mean.window.columns;
                mean.offset = -taps * AIDGE_KIT_MEAN_INPUT_ZERO(numbers);
                mean.count = aidge_kit_count_of_taps(taps, top, left, counted_height, counted_width, shape);
                mean.numbers = numbers + AIDGE_KIT_MEAN_NUMBERS * aidge_kit_kind_of_count(mean.count, counts, count_kinds);
                for (channel = 0; channel + 8 <= channels; channel += 8) {
                    aidge_cortexm_means_of_8(source + channel, output + channel, &mean);
                }
                for (; channel < channels; channel += 4) { /* the last 4 overlap those before */
                    const int32_t place = channel + 4 <= channels ? channel : channels - 4;
                    aidge_cortexm_means_of_4(source + place, output + place, &mean);
                }
                output += channels;
            }
        }
        input += shape->in_height * in_row;
    }
}
