/* SPDX-License-Identifier: 0BSD */
#include "core/helium.h"

/* What a generated product computes; product.py explains the fields. Steps in bytes. */
typedef struct {
    int32_t pixels, pixel_step, rows, row_step, taps, tap_step, vectors, channels, tail, clamps, adds, bits, fixed, offsets, floats;
    int32_t last;    /* bytes of the last vector of weights of each tap in the stream, at most 16 */
    int32_t counted; /* bytes of the zero point in the head; 0: pairs of channels have it */
    int32_t joined;  /* whether biases and multipliers of a pair take three words */
} aidge_helium_product_shape;

#if !AIDGE_HELIUM_ASSEMBLY
/* Bytes of the weights of a window in the stream. */
static int32_t aidge_helium_window_bytes(const aidge_helium_product_shape *shape)
{
    return shape->rows * shape->taps * (shape->vectors * 16 - 16 + shape->last);
}

/* The products of a window, which begins at x, with the weights of a channel, of which `channels` lie side by side at w, vector by
 * vector; `floats`: bytes are unsigned. */
static uint32_t aidge_helium_window(const int8_t *x, int8_t *const *rows, const int8_t *w, int32_t channel, int32_t channels,
                                    const aidge_helium_product_shape *shape)
{
    int32_t row, vector, tap, lane;
    uint32_t sum = 0;
    for (row = 0; row < shape->rows; row++) {
        const int8_t *window = rows != NULL ? rows[row] + (x - rows[0]) : x + row * shape->row_step;
        for (vector = 0; vector < shape->vectors; vector++) {
            const int32_t stored = vector == shape->vectors - 1 ? shape->last : 16;
            const int32_t length = (shape->tail != 0) && (vector == shape->vectors - 1) ? shape->tail : stored;
            const int8_t *own = w + channel * stored;
            for (tap = 0; tap < shape->taps; tap++) {
                const int32_t column = (vector & 1) != 0 ? shape->taps - 1 - tap : tap;
                const int8_t *source = window + column * shape->tap_step + 16 * vector;
                for (lane = 0; lane < length; lane++) {
                    const int32_t value = shape->floats != 0 ? (int32_t)(uint8_t)source[lane] : (int32_t)source[lane];
                    const int32_t weight = shape->floats != 0 ? (int32_t)(uint8_t)own[lane] : (int32_t)own[lane];
                    sum += (uint32_t)(value * weight);
                }
                own += channels * stored;
                w += channels * stored;
            }
        }
    }
    return sum;
}
#endif
