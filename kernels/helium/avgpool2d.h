/* SPDX-License-Identifier: 0BSD */
#include "kit/mean_in_order.h"
#include "kit/window2d.h"
#include "mean_int8.h"

typedef struct {
    aidge_kit_values window;
    int32_t count; /* of the values that the mean counts */
    const int32_t *numbers; /* of this number of taps */
    int32_t order;
} aidge_helium_mean;

#if AIDGE_HELIUM_ASSEMBLY
/* The channels of 8 that no sum decides: channel i as bit 2 * i, at least one. */
AIDGE_KIT_NOINLINE void aidge_helium_undecided_windows(int8_t *y, const int8_t *first, uint32_t undecided,
                                                       const aidge_helium_mean *mean)
{
    do {
        const int32_t channel = __builtin_ctz(undecided) / 2;
        const int32_t level =
            aidge_kit_level_in_order(first + channel, &mean->window, mean->count, mean->numbers, mean->order);
        y[channel] = aidge_kit_stored_level(level, mean->numbers);
        undecided &= undecided - 1u;
    } while (undecided != 0u);
}

/* The means of up to 8 channels whose window begins at `first`. */
AIDGE_KIT_NOINLINE void aidge_helium_means_of_8(int8_t *y, const int8_t *first, int32_t offset, int32_t count,
                                           const aidge_helium_mean *mean)
{
    const mve_pred16_t mask = vctp16q((uint32_t)count);
    const int32_t step = mean->window.column_step;
    int32x4_t even = vdupq_n_s32(offset), odd = even;
    int16x8_t levels;
    uint32_t undecided;
    int32_t row;
    for (row = 0; row < mean->window.rows; row++) {
        const int8_t *tap = first + row * mean->window.row_step;
        int32_t left, some;
        for (left = mean->window.columns; left > 0; left -= some) {
            int16x8_t taps;
            some = left < 255 ? left : 255; /* whose sums fit int16 */
            taps = aidge_helium_add_up_to_8(tap, some, step, mask);
            even = vaddq_s32(even, vmovlbq_s16(taps));
            odd = vaddq_s32(odd, vmovltq_s16(taps));
            tap += some * step;
        }
    }
    even = vmulq_n_s32(even, AIDGE_KIT_MEAN_FACTOR);
    odd = vmulq_n_s32(odd, AIDGE_KIT_MEAN_FACTOR);
    levels = aidge_helium_levels_of_8(even, odd, mean->numbers, &undecided);
    vstrbq_p_s16(y, aidge_helium_stored_clamped(levels, mean->numbers), mask);
    undecided &= (uint32_t)mask;
    if (undecided != 0u) {
        aidge_helium_undecided_windows(y, first, undecided, mean);
    }
}
#endif

/*
 * The mean of each window, int8, channels last, as in mean.h.
 *
 * numbers: as in mean.h for each number of taps in counts: [count_kinds]; order: as in mean_in_order.h; taps outside the
 * image count if counted_height is not 0: those above and left of (counted_height, counted_width).
 */
static void aidge_helium_avgpool2d(const int8_t *x, int8_t *y, const int32_t *numbers, int32_t order, const int32_t *counts,
                                   int32_t count_kinds, int32_t counted_height, int32_t counted_width,
                                   const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t in_row = shape->in_width * channels;
    aidge_helium_mean mean;
    int32_t batch, out_y, out_x, channel;
    mean.order = order;
    mean.window.row_step = shape->dilation_height * in_row;
    mean.window.column_step = shape->dilation_width * channels;
    for (batch = 0; batch < shape->batches; batch++) {
        for (out_y = 0; out_y < shape->out_height; out_y++) {
            const int32_t top = out_y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            mean.window.rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            for (out_x = 0; out_x < shape->out_width; out_x++) {
                const int32_t left = out_x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                const int8_t *source = x + (top + first_y * shape->dilation_height) * in_row
                                       + (left + first_x * shape->dilation_width) * channels;
                int32_t taps, offset;
                mean.window.columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width)
                                      - first_x;
                taps = mean.window.rows * mean.window.columns;
                offset = -taps * AIDGE_KIT_MEAN_INPUT_ZERO(numbers);
                mean.count = aidge_kit_count_of_taps(taps, top, left, counted_height, counted_width, shape);
                mean.numbers = numbers + AIDGE_KIT_MEAN_NUMBERS * aidge_kit_kind_of_count(mean.count, counts, count_kinds);
                channel = 0;
#if AIDGE_HELIUM_ASSEMBLY
                for (; channel < channels; channel += 8) {
                    const int32_t some = channels - channel < 8 ? channels - channel : 8;
                    aidge_helium_means_of_8(y + channel, source + channel, offset, some, &mean);
                }
#else
                for (; channel < channels; channel++) {
                    int32_t sum = offset;
                    int32_t row, column;
                    for (row = 0; row < mean.window.rows; row++) {
                        const int8_t *tap = source + row * mean.window.row_step + channel;
                        for (column = 0; column < mean.window.columns; column++) {
                            sum += tap[column * mean.window.column_step];
                        }
                    }
                    y[channel] = aidge_kit_stored_mean(sum, source + channel, &mean.window, mean.count, mean.numbers, order);
                }
#endif
                y += channels;
            }
        }
        x += shape->in_height * in_row;
    }
}
