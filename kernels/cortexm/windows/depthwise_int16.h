/* SPDX-License-Identifier: 0BSD */
#include "core/target.h"
#include "kit/requantize.h"
#include "kit/window2d.h"

/*
 * The taps of a pixel that are inside the image: their rows and columns, the steps to the next tap and the next row in the
 * data and in the weights, in bytes, and the number of groups of 4 channels. table: 4 biases and 4 multipliers for each group.
 */
typedef struct {
    int32_t rows, columns, step, weights_step, row_step, weights_row_step, groups;
    const int32_t *table;
} aidge_cortexm_patch_int16;

/* The C version of depthwise_int16.py. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_depthwise_int16_c(const int16_t *from, const int8_t *weights, int16_t *output,
    const aidge_cortexm_patch_int16 *patch, int32_t low, int32_t high, int32_t zero_point)
{
    int32_t channel, row, column;
    for (channel = 0; channel < 4 * patch->groups; channel++) {
        const int32_t *const numbers = patch->table + 8 * (channel / 4) + channel % 4;
        const int16_t *x = from + channel;
        const int8_t *w = weights + channel;
        int32_t sum = numbers[0], level;
        float multiplier;
        (void)memcpy(&multiplier, numbers + 4, sizeof multiplier);
        for (row = 0; row < patch->rows; row++) {
            for (column = 0; column < patch->columns; column++) {
                sum += *x * *w;
                x += patch->step / 2;
                w += patch->weights_step;
            }
            x += patch->row_step / 2;
            w += patch->weights_row_step;
        }
        level = aidge_kit_scale(sum, multiplier);
        level = level < low - zero_point ? low - zero_point : level;
        level = level > high - zero_point ? high - zero_point : level;
        output[channel] = (int16_t)(level + zero_point);
    }
}
