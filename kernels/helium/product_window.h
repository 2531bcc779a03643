/* SPDX-License-Identifier: 0BSD */
#include "helium.h"

/* What a generated product computes; product.py explains the fields. Steps in bytes. */
typedef struct {
    int32_t pixels, pixel_step, rows, row_step, taps, tap_step, vectors, channels, tail, clamps, adds, bits, fixed, offsets, floats;
} aidge_helium_product_shape;

#if !AIDGE_HELIUM_ASSEMBLY
/* The products of a window, which begins at x, with weights that lie `next` bytes apart from one vector to the following one;
 * `floats`: 1: bytes are unsigned, 2: those of the data become signed, 128 less. */
static uint32_t aidge_helium_window(const int8_t *x, int8_t *const *rows, const int8_t *w, int32_t next,
                                    const aidge_helium_product_shape *shape)
{
    int32_t row, vector, tap, lane;
    uint32_t sum = 0;
    for (row = 0; row < shape->rows; row++) {
        const int8_t *window = rows != NULL ? rows[row] + (x - rows[0]) : x + row * shape->row_step;
        for (vector = 0; vector < shape->vectors; vector++) {
            const int32_t length = (shape->tail != 0) && (vector == shape->vectors - 1) ? shape->tail : 16;
            for (tap = 0; tap < shape->taps; tap++) {
                const int32_t column = (vector & 1) != 0 ? shape->taps - 1 - tap : tap;
                const int8_t *source = window + column * shape->tap_step + 16 * vector;
                for (lane = 0; lane < length; lane++) {
                    const int32_t value = shape->floats != 0 ? (int32_t)(uint8_t)source[lane] : (int32_t)source[lane];
                    const int32_t weight = shape->floats == 1 ? (int32_t)(uint8_t)w[lane] : (int32_t)w[lane];
                    sum += (uint32_t)((value - (shape->floats == 2 ? 128 : 0)) * weight);
                }
                w += next;
            }
        }
    }
    return sum;
}
#endif
