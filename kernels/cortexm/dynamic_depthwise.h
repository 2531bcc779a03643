/* SPDX-License-Identifier: 0BSD */
#include "dynamic_bytes.h"
#include "kit/wide.h"
#include "kit/window2d.h"

/* The part of a window that lies inside the image, and the groups of 4 channels that are computed; steps in bytes. */
typedef struct {
    int32_t rows, length; /* of a row: its columns times the step */
    int32_t next_row;     /* from the end of a row */
    int32_t step;
    int32_t next_weights; /* from the end of a row of taps */
    int32_t groups, group_weights;
} aidge_cortexm_dynamic_patch;

#if !AIDGE_CORTEXM_FPU
/* The C version of the generated functions: groups of 4 channels of one pixel. */
AIDGE_CORTEXM_C void aidge_cortexm_dynamic_pixel(const uint8_t *from, const int32_t *words, const float *table, float *output,
                                        const aidge_cortexm_dynamic_patch *patch, uint32_t zeros, int32_t sign, float lowest,
                                        float highest)
{
    const int32_t columns = aidge_kit_divide(patch->length, patch->step);
    int32_t group, row, column, channel;
    for (group = 0; group < patch->groups; group++) {
        const uint8_t *x = from;
        const int32_t *w = words;
        int32_t sums[4] = {0, 0, 0, 0};
        for (row = 0; row < patch->rows; row++) {
            for (column = 0; column < columns; column++) {
                for (channel = 0; channel < 4; channel++) {
                    const uint32_t pair = (uint32_t)w[channel % 2];
                    const int32_t weight = channel < 2 ? aidge_cortexm_low(pair) : aidge_cortexm_high(pair);
                    sums[channel] += ((x[channel] ^ sign) - aidge_cortexm_low(zeros)) * weight;
                }
                x += patch->step;
                w += 2;
            }
            x += patch->next_row;
            w += patch->next_weights / 4;
        }
        for (channel = 0; channel < 4; channel++) {
            const float value = aidge_cortexm_kept((float)sums[channel] * table[channel]) + table[4 + channel];
            const float raised = value < lowest ? lowest : value;
            *output++ = raised > highest ? highest : raised;
        }
        from += 4;
        words += patch->group_weights / 4;
        table += 8;
    }
}
#endif
