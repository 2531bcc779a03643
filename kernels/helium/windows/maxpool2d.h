/* SPDX-License-Identifier: 0BSD */
#include "pool_windows.h"

/* The largest of all values of each channel in a window and of `lowest`, at most `highest`; channels last. */
AIDGE_KIT_INLINE void aidge_helium_largest(int8_t *y, const int8_t *first, int32_t channels, const aidge_kit_values *taps,
                                           const int32_t *levels)
{
    int32_t channel, row, column;
    for (channel = 0; channel < channels; channel += 16) {
        const mve_pred16_t mask = vctp8q((uint32_t)(channels - channel));
        int8x16_t largest = vdupq_n_s8((int8_t)levels[0]);
        for (row = 0; row < taps->rows; row++) {
            const int8_t *tap = first + row * taps->row_step + channel;
            for (column = taps->columns; column > 0; column--) {
                largest = vmaxq_m_s8(largest, largest, vldrbq_z_s8(tap, mask), mask);
                tap += taps->column_step;
            }
        }
        vstrbq_p_s8(y + channel, vminq_s8(largest, vdupq_n_s8((int8_t)levels[1])), mask);
    }
}

/* The largest values of a window of all channels; numbers: {lowest, highest}. */
AIDGE_KIT_NOINLINE void aidge_helium_largest_of_window(int8_t *y, const int8_t *first, const aidge_helium_pool_window *window)
{
    aidge_helium_largest(y, first, window->layer->shape.in_channels, &window->taps, window->numbers);
}

/* The largest values of each channel over all pixels. */
AIDGE_KIT_NOINLINE void aidge_helium_max_of_map(const int8_t *x, int8_t *y, const int32_t *levels, int32_t batches,
                                                const aidge_kit_values *map)
{
    for (; batches > 0; batches--) {
        aidge_helium_largest(y, x, map->column_step, map, levels);
        x += map->columns * map->column_step;
        y += map->column_step;
    }
}
