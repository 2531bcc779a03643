/* SPDX-License-Identifier: 0BSD */
#include "lanes.h"
#include "kit/requantize.h"
#include "kit/window2d.h"

typedef struct {
    int32_t rows, columns, row_step, column_step; /* the taps in the image, distances in bytes */
    int32_t offset;                               /* minus the zero points of the taps */
    float multiplier;
    int32_t zero_point;
    uint32_t low, high;                           /* four times the lowest and highest stored value */
} aidge_cortexm_mean2d;

/* Two sums as levels that fit int16, packed; both without the zero point. */
AIDGE_CORTEXM_INLINE uint32_t aidge_cortexm_mean_pair(uint32_t sums, const aidge_cortexm_mean2d *mean)
{
    const int32_t low = aidge_kit_scale(aidge_cortexm_low(sums) + mean->offset, mean->multiplier) + mean->zero_point;
    const int32_t high = aidge_kit_scale(aidge_cortexm_high(sums) + mean->offset, mean->multiplier) + mean->zero_point;
#if AIDGE_CORTEXM_DSP && defined(__GNUC__)
    uint32_t result; /* gcc's own __ssat16 converts signs */
    __asm__("ssat16 %0, #8, %1" : "=r"(result) : "r"(aidge_cortexm_pair(low, high)));
    return result;
#else
    return aidge_cortexm_pair(low < -128 ? -128 : low > 127 ? 127 : low, high < -128 ? -128 : high > 127 ? 127 : high);
#endif
}

/* Sums of bytes 0 and 2, and of bytes 1 and 3, as four stored values. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_store_means(int8_t *output, uint32_t even, uint32_t odd, const aidge_cortexm_mean2d *mean)
{
    uint32_t bytes = aidge_cortexm_mean_pair(even, mean) & 0x00FF00FFu;
    bytes |= (aidge_cortexm_mean_pair(odd, mean) & 0x00FF00FFu) << 8;
    bytes = aidge_cortexm_larger_bytes(bytes, mean->low);
    aidge_cortexm_store(output, aidge_cortexm_smaller_bytes(bytes, mean->high));
}

/* The means of the window's values of 8 channels. */
static void aidge_cortexm_means_of_8(const int8_t *source, int8_t *output, const aidge_cortexm_mean2d *mean)
{
    const int32_t step = mean->column_step;
    uint32_t even[2] = {0, 0};
    uint32_t odd[2] = {0, 0};
    int32_t row, column;
    for (row = mean->rows; row > 0; row--) {
        const int8_t *tap = source;
        for (column = mean->columns; column > 0; column--) {
            const uint32_t first = aidge_cortexm_load(tap);
            const uint32_t second = aidge_cortexm_load(tap + 4);
            even[0] = aidge_cortexm_add_even_bytes(even[0], first);
            odd[0] = aidge_cortexm_add_odd_bytes(odd[0], first);
            even[1] = aidge_cortexm_add_even_bytes(even[1], second);
            odd[1] = aidge_cortexm_add_odd_bytes(odd[1], second);
            tap += step;
        }
        source += mean->row_step;
    }
    aidge_cortexm_store_means(output, even[0], odd[0], mean);
    aidge_cortexm_store_means(output + 4, even[1], odd[1], mean);
}

/* The same of 4 channels. */
static void aidge_cortexm_means_of_4(const int8_t *source, int8_t *output, const aidge_cortexm_mean2d *mean)
{
    uint32_t even = 0;
    uint32_t odd = 0;
    int32_t row, column;
    for (row = mean->rows; row > 0; row--) {
        const int8_t *tap = source;
        for (column = mean->columns; column > 0; column--) {
            const uint32_t word = aidge_cortexm_load(tap);
            even = aidge_cortexm_add_even_bytes(even, word);
            odd = aidge_cortexm_add_odd_bytes(odd, word);
            tap += mean->column_step;
        }
        source += mean->row_step;
    }
    aidge_cortexm_store_means(output, even, odd, mean);
}

/*
 * The mean of each window of at most 255 taps, int8, channels last, at least 4 channels.
 *
 * levels: {lowest, highest, zero point} of the output, zero point of the input; multipliers: input scale / (count * output
 * scale) for each number of taps in counts: [count_kinds]; taps outside the image count if counted_height is not 0: those
 * above and left of (counted_height, counted_width).
 * The generator has proved the result equal to the real formula for every sum that can occur.
 */
static void aidge_cortexm_avgpool2d_int8(const int8_t *input, int8_t *output, const int32_t *levels, const float *multipliers,
                                         const int32_t *counts, int32_t count_kinds, int32_t counted_height,
                                         int32_t counted_width, const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t in_row = shape->in_width * channels;
    aidge_cortexm_mean2d mean;
    int32_t batch, y, x, channel;
    mean.row_step = shape->dilation_height * in_row;
    mean.column_step = shape->dilation_width * channels;
    mean.low = aidge_cortexm_four_bytes(levels[0]);
    mean.high = aidge_cortexm_four_bytes(levels[1]);
    mean.zero_point = levels[2];
    for (batch = 0; batch < shape->batches; batch++) {
        for (y = 0; y < shape->out_height; y++) {
            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            mean.rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            for (x = 0; x < shape->out_width; x++) {
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                const int8_t *source = input + (top + first_y * shape->dilation_height) * in_row
                                       + (left + first_x * shape->dilation_width) * channels;
                mean.columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
                mean.offset = -mean.rows * mean.columns * levels[3];
                mean.multiplier = multipliers[0];
                if (count_kinds > 1) {
                    mean.multiplier = multipliers[aidge_kit_kind_of_count(aidge_kit_count_of_taps(
                        mean.rows * mean.columns, top, left, counted_height, counted_width, shape), counts, count_kinds)];
                }
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
