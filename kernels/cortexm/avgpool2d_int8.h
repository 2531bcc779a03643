/* SPDX-License-Identifier: 0BSD */
#include "kit/mean_in_order.h"
#include "kit/window2d.h"
#include "lanes.h"

/* A layer: its windows, the order of a sum as in mean_in_order.h, how many counts of taps there are, and the place above and left
 * of which taps outside the image count, if its height is not 0. */
typedef struct {
    aidge_kit_window2d shape;
    int32_t order, kinds, counted_height, counted_width;
} aidge_cortexm_means;

/* One window: its values, how many the mean counts, what belongs to that count (mean.h), minus the zero points of its taps. */
typedef struct {
    aidge_kit_values window;
    int32_t count;
    const int32_t *numbers;
    int32_t offset;
    const int32_t *all_numbers, *counts; /* of each kind of window */
    const aidge_cortexm_means *layer;
    const int8_t *input;                 /* of this batch */
    int32_t y, x;                        /* of the next output */
} aidge_cortexm_mean2d;

#define AIDGE_CORTEXM_UNDECIDED 128

/* The stored value of a sum, or AIDGE_CORTEXM_UNDECIDED: it lies beside the middle of two levels. */
AIDGE_KIT_NOINLINE int32_t aidge_cortexm_mean2d_of(int32_t sum, const aidge_cortexm_mean2d *mean)
{
    const int32_t *const numbers = mean->numbers;
    const int64_t product = aidge_kit_multiply_s64((sum + mean->offset) * AIDGE_KIT_MEAN_FACTOR, numbers[0]);
    const uint32_t fraction = (uint32_t)product;
    const int32_t level = (int32_t)((uint64_t)product >> 32) + (int32_t)(fraction >> 31);
    return aidge_kit_is_decided(fraction, numbers) ? aidge_kit_stored_level(level, numbers) : AIDGE_CORTEXM_UNDECIDED;
}

/* The level of the values at `first`, added up in their order. */
AIDGE_KIT_NOINLINE int32_t aidge_cortexm_mean2d_in_order(const int8_t *first, const aidge_cortexm_mean2d *mean)
{
    return aidge_kit_level_in_order(first, &mean->window, mean->count, mean->numbers, mean->layer->order);
}

AIDGE_CORTEXM_INLINE int8_t aidge_cortexm_stored_mean2d(int32_t sum, const int8_t *first, const aidge_cortexm_mean2d *mean)
{
    int32_t level = aidge_cortexm_mean2d_of(sum, mean);
    if (level == AIDGE_CORTEXM_UNDECIDED) {
        level = aidge_kit_stored_level(aidge_cortexm_mean2d_in_order(first, mean), mean->numbers);
    }
    return (int8_t)level;
}

/* Sums of bytes 0 and 2, and of bytes 1 and 3, of the window at `first` as four stored values. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_store_means(int8_t *output, uint32_t even, uint32_t odd, const int8_t *first,
                                                    const aidge_cortexm_mean2d *mean)
{
    output[0] = aidge_cortexm_stored_mean2d(aidge_cortexm_low(even), first, mean);
    output[1] = aidge_cortexm_stored_mean2d(aidge_cortexm_low(odd), first + 1, mean);
    output[2] = aidge_cortexm_stored_mean2d(aidge_cortexm_high(even), first + 2, mean);
    output[3] = aidge_cortexm_stored_mean2d(aidge_cortexm_high(odd), first + 3, mean);
}

#if AIDGE_CORTEXM_FPU
/* The means of the window's values of 8 channels. Without an FPU what they call takes more of the stack, which this would fill. */
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

#endif

/* The means of the window's values of 4 channels. */
AIDGE_CORTEXM_APART void aidge_cortexm_means_of_4(const int8_t *source, int8_t *output, const aidge_cortexm_mean2d *mean)
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

/* The window of the next output, and how its mean is computed. Returns its first value in the image. */
AIDGE_CORTEXM_APART const int8_t *aidge_cortexm_next_window(aidge_cortexm_mean2d *mean)
{
    const aidge_cortexm_means *const layer = mean->layer;
    const aidge_kit_window2d *const shape = &layer->shape;
    const int32_t top = mean->y * shape->stride_height - shape->pad_top;
    const int32_t left = mean->x * shape->stride_width - shape->pad_left;
    const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
    const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
    const int8_t *const first = mean->input + ((top + first_y * shape->dilation_height) * shape->in_width + left
                                               + first_x * shape->dilation_width) * shape->in_channels;
    int32_t taps, kind;
    mean->window.rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
    mean->window.columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
    taps = mean->window.rows * mean->window.columns;
    mean->offset = -taps * AIDGE_KIT_MEAN_INPUT_ZERO(mean->all_numbers);
    mean->count = aidge_kit_count_of_taps(taps, top, left, layer->counted_height, layer->counted_width, shape);
    kind = aidge_kit_kind_of_count(mean->count, mean->counts, layer->kinds);
    mean->numbers = mean->all_numbers + AIDGE_KIT_MEAN_NUMBERS * kind;
    mean->x++;
    if (mean->x == shape->out_width) {
        mean->x = 0;
        mean->y++;
        if (mean->y == shape->out_height) {
            mean->y = 0;
            mean->input += shape->in_height * shape->in_width * shape->in_channels;
        }
    }
    return first;
}

/*
 * The mean of each window of at most 255 taps, int8, channels last, at least 4 channels, as in mean.h.
 *
 * numbers: as in mean.h for each number of taps in counts: [layer->kinds].
 */
static void aidge_cortexm_avgpool2d_int8(const int8_t *input, int8_t *output, const int32_t *numbers, const int32_t *counts,
                                         const aidge_cortexm_means *layer)
{
    const int32_t channels = layer->shape.in_channels;
    int32_t left = layer->shape.batches * layer->shape.out_height * layer->shape.out_width;
    aidge_cortexm_mean2d mean;
    mean.window.row_step = layer->shape.dilation_height * layer->shape.in_width * channels;
    mean.window.column_step = layer->shape.dilation_width * channels;
    mean.all_numbers = numbers;
    mean.counts = counts;
    mean.layer = layer;
    mean.input = input;
    mean.y = 0;
    mean.x = 0;
    for (; left > 0; left--) {
        const int8_t *source = aidge_cortexm_next_window(&mean);
        int32_t channel = 0;
#if AIDGE_CORTEXM_FPU
        for (; channel + 8 <= channels; channel += 8) {
            aidge_cortexm_means_of_8(source + channel, output + channel, &mean);
        }
#endif
        for (; channel < channels; channel += 4) { /* the last 4 overlap those before */
            const int32_t place = channel + 4 <= channels ? channel : channels - 4;
            aidge_cortexm_means_of_4(source + place, output + place, &mean);
        }
        output += channels;
    }
}
