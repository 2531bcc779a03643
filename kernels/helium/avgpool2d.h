/* SPDX-License-Identifier: 0BSD */
#include "float32/alike.h"
#include "kit/mean_in_order.h"
#include "mean_int8.h"

/* Of each count of taps: the numbers of kit/mean.h, then a line, if it gives the levels of all sums (mean_lines.py), else zeros. */
enum {
    AIDGE_HELIUM_MEAN_FACTOR = AIDGE_KIT_MEAN_NUMBERS,
    AIDGE_HELIUM_MEAN_START,
    AIDGE_HELIUM_MEAN_DROP,
    AIDGE_HELIUM_MEAN_NUMBERS
};

/* A window; away: halves of negative sums go away from zero. */
typedef struct {
    aidge_kit_values window;
    int32_t count; /* of the values that the mean counts */
    const int32_t *numbers; /* of this number of taps */
    int32_t order, away;
} aidge_helium_mean;

/* Means of `pixels` neighbouring windows that see as much as this one (mean_runs.py). Returns how many of them are left. */
typedef int32_t aidge_helium_mean_run(int8_t *y, const int8_t *x, int32_t pixels, const int32_t *numbers,
                                      const aidge_helium_mean *mean);

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

/* The levels of 8 sums by a line, channels 0, 2, 4, 6 and 1, 3, 5, 7. */
AIDGE_KIT_INLINE int16x8_t aidge_helium_levels_of_line(int32x4_t even, int32x4_t odd, const aidge_helium_mean *mean)
{
    const int32x4_t factor = vdupq_n_s32(mean->numbers[AIDGE_HELIUM_MEAN_FACTOR]);
    const int32_t start = mean->numbers[AIDGE_HELIUM_MEAN_START];
    int16x8_t levels = vuninitializedq_s16();
    if (mean->away != 0) {
        even = vaddq_s32(even, vshrq_n_s32(even, 31));
        odd = vaddq_s32(odd, vshrq_n_s32(odd, 31));
    }
    levels = vshrnbq_n_s32(levels, vmlasq_n_s32(even, factor, start), 16);
    levels = vshrntq_n_s32(levels, vmlasq_n_s32(odd, factor, start), 16);
    return vrshlq_n_s16(levels, -mean->numbers[AIDGE_HELIUM_MEAN_DROP]);
}

/* The means of up to 8 channels whose window begins at `first`. */
AIDGE_KIT_NOINLINE void aidge_helium_means_of_8(int8_t *y, const int8_t *first, int32_t offset, int32_t count,
                                           const aidge_helium_mean *mean)
{
    const mve_pred16_t mask = vctp16q((uint32_t)count);
    const int32_t step = mean->window.column_step;
    int32x4_t even = vdupq_n_s32(offset), odd = even;
    int16x8_t levels;
    uint32_t undecided = 0;
    int32_t row;
    for (row = 0; row < mean->window.rows; row++) {
        const int8_t *tap = first + row * mean->window.row_step;
        int32_t left, some;
        for (left = mean->window.columns; left > 0; left -= some) {
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
#else
/* The mean of one channel whose window begins at `first`. */
static int8_t aidge_helium_mean_of_1(const int8_t *first, int32_t offset, const aidge_helium_mean *mean)
{
    const int32_t *const numbers = mean->numbers;
    const int32_t drop = numbers[AIDGE_HELIUM_MEAN_DROP];
    int32_t sum = offset, row, column;
    for (row = 0; row < mean->window.rows; row++) {
        for (column = 0; column < mean->window.columns; column++) {
            sum += first[row * mean->window.row_step + column * mean->window.column_step];
        }
    }
    if (numbers[AIDGE_HELIUM_MEAN_FACTOR] == 0) {
        return aidge_kit_stored_mean(sum, first, &mean->window, mean->count, numbers, mean->order);
    }
    sum -= (mean->away != 0) && (sum < 0) ? 1 : 0;
    sum = (sum * numbers[AIDGE_HELIUM_MEAN_FACTOR] + numbers[AIDGE_HELIUM_MEAN_START]) >> 16;
    sum = ((sum + (1 << (drop - 1))) >> drop) - AIDGE_KIT_MEAN_ZERO(numbers);
    return aidge_kit_stored_level(sum, numbers);
}
#endif

/* The means of a window of all channels. */
static void aidge_helium_means_of_window(int8_t *y, const int8_t *first, int32_t channels, const aidge_helium_mean *mean)
{
    const int32_t offset = -mean->window.rows * mean->window.columns * AIDGE_KIT_MEAN_INPUT_ZERO(mean->numbers);
    int32_t channel;
#if AIDGE_HELIUM_ASSEMBLY
    for (channel = 0; channel < channels; channel += 8) {
        aidge_helium_means_of_8(y + channel, first + channel, offset, channels - channel, mean);
    }
#else
    for (channel = 0; channel < channels; channel++) {
        y[channel] = aidge_helium_mean_of_1(first + channel, offset, mean);
    }
#endif
}

/*
 * The mean of each window, int8, channels last.
 *
 * numbers: for each number of taps in counts, [count_kinds]; order: as in mean_in_order.h, or -1 to divide as the contract
 * `double`, halves away from zero; taps outside the image count if counted_height is not 0: those above and left of
 * (counted_height, counted_width). run: computes windows with the numbers of_lines, floats: with of_floats windows that it
 * leaves; each may be NULL.
 */
AIDGE_KIT_INLINE void aidge_helium_avgpool2d(aidge_helium_mean_run *run, aidge_helium_mean_run *floats, const int8_t *x, int8_t *y,
                                             const int32_t *numbers, const int32_t *of_lines, const int32_t *of_floats,
                                             int32_t order, const int32_t *counts, int32_t count_kinds, int32_t counted_height,
                                             int32_t counted_width, const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t in_row = shape->in_width * channels;
    aidge_helium_mean mean;
    int32_t batch, out_y, out_x;
    mean.order = order;
    mean.away = order < 0 ? 1 : 0;
    mean.window.row_step = shape->dilation_height * in_row;
    mean.window.column_step = shape->dilation_width * channels;
    for (batch = 0; batch < shape->batches; batch++) {
        for (out_y = 0; out_y < shape->out_height; out_y++) {
            const int32_t top = out_y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            mean.window.rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            out_x = 0;
            while (out_x < shape->out_width) {
                const int32_t left = out_x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                const int8_t *source = x + (top + first_y * shape->dilation_height) * in_row
                                       + (left + first_x * shape->dilation_width) * channels;
                const int32_t columns =
                    aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
                const int32_t taps = mean.window.rows * columns;
                const int32_t alike = columns == shape->kernel_width ? aidge_helium_alike(out_x, left, shape) : 1;
                int32_t done = 0;
                mean.window.columns = columns;
                mean.count = aidge_kit_count_of_taps(taps, top, left, counted_height, counted_width, shape);
                if (run != NULL) {
                    done = alike - run(y, source, alike, of_lines, &mean);
                }
                if ((done == 0) && (floats != NULL)) {
                    const int32_t pixels = run != NULL ? 1 : alike;
                    done = pixels - floats(y, source, pixels, of_floats, &mean);
                }
                if (done == 0) {
                    mean.numbers = numbers + AIDGE_HELIUM_MEAN_NUMBERS * aidge_kit_kind_of_count(mean.count, counts, count_kinds);
                    aidge_helium_means_of_window(y, source, channels, &mean);
                    done = 1;
                }
                out_x += done;
                y += done * channels;
            }
        }
        x += shape->in_height * in_row;
    }
}
