/* SPDX-License-Identifier: 0BSD */
#include "shared/float_model.h"

#include <stdint.h>

typedef struct {
    int32_t rows, depth, columns, bits, block;
} aidge_ref_nbits_shape;

/*
 * output[row][n] = bias[n] + sum over blocks of scales[n][block] * sum((q - zeros[n][block]) * input), float32.
 *
 * weights: q of each column, `bits` each, the first in the lowest bits, padded to whole blocks of `block`, which fill bytes.
 */
static void aidge_ref_matmul_nbits_float32(const float *input, float *output, const uint8_t *weights, const float *scales,
                                           const uint8_t *zeros, const float *bias, const aidge_ref_nbits_shape *shape)
{
    const int32_t mask = (1 << shape->bits) - 1;
    int32_t row, column, place, left, shift;
    for (row = 0; row < shape->rows; row++) {
        const uint8_t *w = weights;
        const float *scale = scales;
        const uint8_t *zero = zeros;
        for (column = 0; column < shape->columns; column++) {
            float sum = bias[column];
            for (place = 0; place < shape->depth; place += shape->block) {
                const int32_t end = place + shape->block < shape->depth ? place + shape->block : shape->depth;
                const float *x = input + place;
                const uint8_t *byte = w;
                const int32_t point = *zero++;
                float part = 0.0f;
                left = end - place;
                while (left > 0) {
                    const int32_t packed = *byte++;
                    for (shift = 0; shift < 8 && left > 0; shift += shape->bits, left--) {
                        part += (float)(((packed >> shift) & mask) - point) * *x++;
                    }
                }
                sum += part * *scale++;
                w += shape->block * shape->bits / 8;
            }
            *output++ = sum;
        }
        input += shape->depth;
    }
}
