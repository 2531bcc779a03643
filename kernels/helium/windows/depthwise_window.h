/* SPDX-License-Identifier: 0BSD */
#include "core/helium.h"

/* What a generated depthwise convolution computes; depthwise.py explains the fields. Steps in bytes. */
typedef struct {
    int32_t channels, rows, taps, tap_step, pixel_step, bits, fixed, wide;
} aidge_helium_depthwise_shape;

#if !AIDGE_HELIUM_ASSEMBLY
/* The products of the window of one of 16 channels, of a pixel and a block of 16 channels; rows: where their windows begin. Wide
 * weights are int16, of even channels before those of odd ones; `data`: 255 where data are unsigned. */
static uint32_t aidge_helium_depthwise_window(const int8_t *const *rows, int32_t first, const int8_t *w, int32_t lane, int is_unsigned,
                                              const aidge_helium_depthwise_shape *shape)
{
    uint32_t sum = 0;
    int32_t row, tap;
    for (row = 0; row < shape->rows; row++) {
        const int8_t *x = rows[row] + first + lane;
        for (tap = 0; tap < shape->taps; tap++) {
            const int32_t value = is_unsigned != 0 ? (uint8_t)*x : *x;
            int16_t weight = w[lane];
            if (shape->wide != 0) {
                (void)memcpy(&weight, w + 2 * ((lane & 1) * 8 + lane / 2), sizeof weight);
            }
            sum += (uint32_t)(value * weight);
            x += shape->tap_step;
            w += shape->wide != 0 ? 32 : 16;
        }
    }
    return sum;
}
#endif
