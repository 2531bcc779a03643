/* SPDX-License-Identifier: 0BSD */
#include "kit/mean_in_order.h"
#include "kit/window2d.h"
#include "core/lanes.h"

/* A layer: its windows, the order of a sum as in mean_in_order.h, the number of counts of taps; if `counted_height` is not 0,
 * taps outside the image count above and left of (counted_height, counted_width); the windows inside the image. */
typedef struct {
    aidge_kit_window2d shape;
    int32_t order, kinds, counted_height, counted_width;
    int32_t first_y, end_y, first_x, end_x;
} aidge_cortexm_means;

/* arithmetic/means.py: a level is (sum * multiplier + start) >> bits unless the bits below, at the upper end of a word, are at most
 * `unsure`. */
typedef struct {
    int32_t multiplier, start, unsure;
} aidge_cortexm_mean_line;

/* The numbers for each count of taps: the numbers of mean.h, the count, the line and its fraction bits. */
enum {
    AIDGE_CORTEXM_MEAN_COUNT = AIDGE_KIT_MEAN_NUMBERS,
    AIDGE_CORTEXM_MEAN_LINE,
    AIDGE_CORTEXM_MEAN_BITS = AIDGE_CORTEXM_MEAN_LINE + 3,
    AIDGE_CORTEXM_MEAN_NUMBERS
};

/* One window: its values, what belongs to the count of its taps, minus the zero points of these. */
typedef struct {
    aidge_cortexm_mean_line line;        /* with the offset in its start; the assembly finds it here */
    aidge_kit_values window;
    const int32_t *numbers;              /* the assembly finds it here */
    int32_t offset;
    const int32_t *all_numbers;          /* of each count */
    const aidge_cortexm_means *layer;
} aidge_cortexm_mean2d;

/* The stored value of the values at `first`, added up in their order. */
AIDGE_KIT_NOINLINE int32_t aidge_cortexm_mean2d_in_order(const int8_t *first, const aidge_cortexm_mean2d *mean)
{
    const int32_t level = aidge_kit_level_in_order(first, &mean->window, mean->numbers[AIDGE_CORTEXM_MEAN_COUNT], mean->numbers, mean->layer->order);
    return aidge_kit_stored_level(level, mean->numbers);
}

/* The stored value of a sum that is nearly, or exactly, in the middle of two levels. Its last call is a tail call. */
AIDGE_CORTEXM_NOINLINE int32_t aidge_cortexm_unsure_mean2d(int32_t sum, const int8_t *first, const aidge_cortexm_mean2d *mean)
{
    const int32_t *const numbers = mean->numbers;
    const int64_t product = aidge_kit_multiply_s64((sum + mean->offset) * AIDGE_KIT_MEAN_FACTOR, numbers[0]);
    const uint32_t fraction = (uint32_t)product;
    if (aidge_kit_is_decided(fraction, numbers) != 0) {
        return aidge_kit_stored_level((int32_t)((uint64_t)product >> 32) + (int32_t)(fraction >> 31), numbers);
    }
    return aidge_cortexm_mean2d_in_order(first, mean);
}

AIDGE_CORTEXM_INLINE int8_t aidge_cortexm_stored_mean2d(int32_t sum, const int8_t *first, const aidge_cortexm_mean2d *mean)
{
    const int32_t product = sum * mean->line.multiplier + mean->line.start;
    const int32_t bits = mean->numbers[AIDGE_CORTEXM_MEAN_BITS];
    if ((uint32_t)product << (32 - bits) <= (uint32_t)mean->line.unsure) {
        return (int8_t)aidge_cortexm_unsure_mean2d(sum, first, mean);
    }
    return (int8_t)aidge_cortexm_int8(product >> bits);
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

/* The window of an output of a batch, and how its mean is computed. Returns its first value in the image. */
AIDGE_CORTEXM_APART const int8_t *aidge_cortexm_window_at(aidge_cortexm_mean2d *mean, const int8_t *input, int32_t y, int32_t x)
{
    const aidge_cortexm_means *const layer = mean->layer;
    const aidge_kit_window2d *const shape = &layer->shape;
    const int32_t top = y * shape->stride_height - shape->pad_top;
    const int32_t left = x * shape->stride_width - shape->pad_left;
    const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
    const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
    const int8_t *const first = input + ((top + first_y * shape->dilation_height) * shape->in_width + left
                                               + first_x * shape->dilation_width) * shape->in_channels;
    const int32_t *line;
    int32_t taps, kinds;
    mean->window.rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
    mean->window.columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
    taps = mean->window.rows * mean->window.columns;
    mean->offset = -taps * AIDGE_KIT_MEAN_INPUT_ZERO(mean->all_numbers);
    taps = aidge_kit_count_of_taps(taps, top, left, layer->counted_height, layer->counted_width, shape);
    mean->numbers = mean->all_numbers;
    for (kinds = layer->kinds; (kinds > 1) && (mean->numbers[AIDGE_CORTEXM_MEAN_COUNT] != taps); kinds--) {
        mean->numbers += AIDGE_CORTEXM_MEAN_NUMBERS;
    }
    line = mean->numbers + AIDGE_CORTEXM_MEAN_LINE;
    mean->line.multiplier = line[0];
    mean->line.start = line[1] + mean->offset * line[0];
    mean->line.unsure = line[2];
    return first;
}

/* The means of all channels of a window with 1 to 3 channels. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_narrow_means_of_window(const int8_t *source, int8_t *output, const aidge_cortexm_mean2d *mean,
                                                              int32_t channels)
{
    for (; channels > 0; channels--) {
        const int8_t *values = source;
        int32_t sum = 0;
        int32_t row, column;
        for (row = mean->window.rows; row > 0; row--) {
            const int8_t *tap = values;
            for (column = mean->window.columns; column > 0; column--) {
                sum += *tap;
                tap += mean->window.column_step;
            }
            values += mean->window.row_step;
        }
        *output++ = aidge_cortexm_stored_mean2d(sum, source, mean);
        source++;
    }
}

/* The means of all channels of a window. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_means_of_window(const int8_t *source, int8_t *output, const aidge_cortexm_mean2d *mean,
                                                       int32_t channels)
{
    int32_t channel;
    for (channel = 0; (channel < channels) && (channels >= 4); channel += 4) { /* the last 4 overlap those before */
        const int32_t place = channel + 4 <= channels ? channel : channels - 4;
        aidge_cortexm_means_of_4(source + place, output + place, mean);
    }
    if (channels < 4) {
        aidge_cortexm_narrow_means_of_window(source, output, mean, channels);
    }
}

#if !AIDGE_CORTEXM_FPU
/* The means of a row of windows inside the image, `step` bytes apart: the C version of the functions of this name. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_means_of_row(const int8_t *source, int8_t *output, const aidge_cortexm_mean2d *mean, int32_t pixels,
                                                int32_t step, int32_t channels)
{
    for (; pixels > 0; pixels--) {
        aidge_cortexm_means_of_window(source, output, mean, channels);
        source += step;
        output += channels;
    }
}
#endif

/* Fills in the fields that all windows of a layer have in common. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_mean2d_begin(aidge_cortexm_mean2d *mean, const int32_t *numbers,
                                                     const aidge_cortexm_means *layer)
{
    mean->window.row_step = layer->shape.dilation_height * layer->shape.in_width * layer->shape.in_channels;
    mean->window.column_step = layer->shape.dilation_width * layer->shape.in_channels;
    mean->all_numbers = numbers;
    mean->layer = layer;
}

/*
 * The mean of each window of at most 255 taps, int8, channels last, as in mean.h.
 *
 * numbers: [layer->kinds][AIDGE_CORTEXM_MEAN_NUMBERS].
 */
AIDGE_CORTEXM_UNUSED /* where functions of their own know of windows inside the image */
static void aidge_cortexm_avgpool2d_int8(const int8_t *input, int8_t *output, const int32_t *numbers,
                                         const aidge_cortexm_means *layer)
{
    const aidge_kit_window2d *const shape = &layer->shape;
    aidge_cortexm_mean2d mean;
    int32_t batch, y, x;
    aidge_cortexm_mean2d_begin(&mean, numbers, layer);
    for (batch = 0; batch < shape->batches; batch++) {
        for (y = 0; y < shape->out_height; y++) {
            for (x = 0; x < shape->out_width; x++) {
                aidge_cortexm_means_of_window(aidge_cortexm_window_at(&mean, input, y, x), output, &mean, shape->in_channels);
                output += shape->in_channels;
            }
        }
        input += shape->in_height * shape->in_width * shape->in_channels;
    }
}
