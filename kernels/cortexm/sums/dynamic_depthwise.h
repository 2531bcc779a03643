/* SPDX-License-Identifier: 0BSD */
#include "dynamic_bytes.h"

/* The part of a window that is inside the image: the zero point in both halves, rows of taps, bytes of a row and from its end to the
 * next one, bytes of a tap, bytes of the weights from row to row of taps. Assembly reads it in this order. */
typedef struct {
    uint32_t zeros;
    int32_t rows, length, next_row, step, next_weights;
} aidge_cortexm_dynamic_patch;

#if !AIDGE_CORTEXM_FPU
/* The C version of the generated functions: 4 channels of one pixel; `numbers`: their factors and biases. */
AIDGE_CORTEXM_C void aidge_cortexm_dynamic_pixel(const uint8_t *from, const int32_t *weights, const float *numbers, float *output,
                                                 const aidge_cortexm_dynamic_patch *patch, int32_t sign, float lowest, float highest)
{
    int32_t sums[4] = {0, 0, 0, 0};
    int32_t row, channel;
    for (row = 0; row < patch->rows; row++) {
        const uint8_t *const end = from + patch->length;
        for (; from != end; from += patch->step) {
            for (channel = 0; channel < 4; channel++) {
                const uint32_t pair = (uint32_t)weights[channel % 2];
                const int32_t weight = channel < 2 ? aidge_cortexm_low(pair) : aidge_cortexm_high(pair);
                sums[channel] += ((from[channel] ^ sign) - aidge_cortexm_low(patch->zeros)) * weight;
            }
            weights += 2;
        }
        from += patch->next_row;
        weights += patch->next_weights / 4;
    }
    for (channel = 0; channel < 4; channel++) {
        const float value = aidge_cortexm_kept((float)sums[channel] * numbers[channel]) + numbers[4 + channel];
        const float raised = value < lowest ? lowest : value;
        output[channel] = raised > highest ? highest : raised;
    }
}
#endif
