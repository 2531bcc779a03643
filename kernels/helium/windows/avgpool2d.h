/* SPDX-License-Identifier: 0BSD */
#include "kit/mean_in_order.h"
#include "mean_int8.h"
#include "pool_windows.h"

/* The numbers for each count of taps: the numbers of kit/mean.h, the count, then a line if it gives the levels of all sums
 * (mean_lines.py), else zeros. */
enum {
    AIDGE_HELIUM_MEAN_COUNT = AIDGE_KIT_MEAN_NUMBERS,
    AIDGE_HELIUM_MEAN_FACTOR,
    AIDGE_HELIUM_MEAN_START,
    AIDGE_HELIUM_MEAN_DROP,
    AIDGE_HELIUM_MEAN_NUMBERS
};

/* The channels of 8 that no sum decides: channel i as bit 2 * i, at least one. */
AIDGE_KIT_NOINLINE void aidge_helium_undecided_windows(int8_t *y, const int8_t *first, uint32_t undecided,
                                                       const aidge_helium_pool_window *mean)
{
    do {
        const int32_t channel = __builtin_ctz(undecided) / 2;
        const int32_t level =
            aidge_kit_level_in_order(first + channel, &mean->taps, mean->count, mean->numbers, mean->layer->order);
        y[channel] = aidge_kit_stored_level(level, mean->numbers);
        undecided &= undecided - 1u;
    } while (undecided != 0u);
}

/* The levels of 8 sums by a line, channels 0, 2, 4, 6 and 1, 3, 5, 7. */
AIDGE_KIT_INLINE int16x8_t aidge_helium_levels_of_line(int32x4_t even, int32x4_t odd, const aidge_helium_pool_window *mean)
{
    const int32x4_t factor = vdupq_n_s32(mean->numbers[AIDGE_HELIUM_MEAN_FACTOR]);
    const int32_t start = mean->numbers[AIDGE_HELIUM_MEAN_START];
    int16x8_t levels = vuninitializedq_s16();
    if (mean->layer->order < 0) {
        even = vaddq_s32(even, vshrq_n_s32(even, 31));
        odd = vaddq_s32(odd, vshrq_n_s32(odd, 31));
    }
    levels = vshrnbq_n_s32(levels, vmlasq_n_s32(even, factor, start), 16);
    levels = vshrntq_n_s32(levels, vmlasq_n_s32(odd, factor, start), 16);
    return vrshlq_n_s16(levels, -mean->numbers[AIDGE_HELIUM_MEAN_DROP]);
}

/* The means of up to 8 channels whose window begins at `first`. */
AIDGE_KIT_NOINLINE void aidge_helium_means_of_8(int8_t *y, const int8_t *first, int32_t offset, int32_t count,
                                           const aidge_helium_pool_window *mean)
{
    const mve_pred16_t mask = vctp16q((uint32_t)count);
    const int32_t step = mean->taps.column_step;
    int32x4_t even = vdupq_n_s32(offset), odd = even;
    int16x8_t levels;
    uint32_t undecided = 0;
    int32_t row;
    for (row = 0; row < mean->taps.rows; row++) {
        const int8_t *tap = first + row * mean->taps.row_step;
        int32_t left, some;
        for (left = mean->taps.columns; left > 0; left -= some) {
            int16x8_t taps;
            some = left < 255 ? left : 255; /* whose sums fit int16 */
            taps = count >= 8 ? aidge_helium_add_8(tap, some, step) : aidge_helium_add_up_to_8(tap, some, step, mask);
            even = vaddq_s32(even, vmovlbq_s16(taps));
            odd = vaddq_s32(odd, vmovltq_s16(taps));
            tap += some * step;
        }
    }
    if (mean->numbers[AIDGE_HELIUM_MEAN_FACTOR] != 0) {
        levels = aidge_helium_levels_of_line(even, odd, mean);
    } else {
        even = vmulq_n_s32(even, AIDGE_KIT_MEAN_FACTOR);
        odd = vmulq_n_s32(odd, AIDGE_KIT_MEAN_FACTOR);
        levels = aidge_helium_levels_of_8(even, odd, mean->numbers, &undecided);
    }
    vstrbq_p_s16(y, aidge_helium_stored_clamped(levels, mean->numbers), mask);
    undecided &= (uint32_t)mask;
    if (undecided != 0u) {
        aidge_helium_undecided_windows(y, first, undecided, mean);
    }
}

/* The means of a window of all channels; numbers: of each count of taps. */
static void aidge_helium_means_of_window(int8_t *y, const int8_t *first, const aidge_helium_pool_window *window)
{
    const int32_t channels = window->layer->shape.in_channels;
    aidge_helium_pool_window mean = *window;
    int32_t kinds, channel, offset;
    for (kinds = window->layer->kinds; (kinds > 1) && (mean.numbers[AIDGE_HELIUM_MEAN_COUNT] != mean.count); kinds--) {
        mean.numbers += AIDGE_HELIUM_MEAN_NUMBERS;
    }
    offset = -mean.taps.rows * mean.taps.columns * AIDGE_KIT_MEAN_INPUT_ZERO(mean.numbers);
    for (channel = 0; channel < channels; channel += 8) {
        aidge_helium_means_of_8(y + channel, first + channel, offset, channels - channel, &mean);
    }
}
