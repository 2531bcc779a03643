/* SPDX-License-Identifier: 0BSD */
#include "kit/wide.h"

/* Steps in elements of the input, then of the output. */
typedef struct {
    int32_t batches, channels, height, width;
    int32_t in_steps[4], out_steps[4];
} aidge_ref_resize_double_shape;

/*
 * A weighted mean of four pixels, whose places are integers of 10 bits; int8, or int16 if wide.
 *
 * rows, columns: {first, second, share of the second * 2^10} for each row and column of the output.
 */
static void aidge_ref_resize_double(const void *input, void *output, const int32_t *rows, const int32_t *columns, int32_t wide,
                                    const aidge_ref_resize_double_shape *shape)
{
    const int32_t *in = shape->in_steps;
    const int32_t *out = shape->out_steps;
    int32_t batch, channel, y, x, place;
    for (batch = 0; batch < shape->batches; batch++) {
        for (channel = 0; channel < shape->channels; channel++) {
            for (y = 0; y < shape->height; y++) {
                for (x = 0; x < shape->width; x++) {
                    const int32_t *row = rows + 3 * y;
                    const int32_t *column = columns + 3 * x;
                    const int32_t to = batch * out[0] + channel * out[1] + y * out[2] + x * out[3];
                    int64_t sum = 0;
                    for (place = 0; place < 4; place++) {
                        const int32_t below = place & 1;
                        const int32_t right = place >> 1;
                        const int32_t at = batch * in[0] + channel * in[1] + row[below] * in[2] + column[right] * in[3];
                        const int32_t value = wide != 0 ? ((const int16_t *)input)[at] : ((const int8_t *)input)[at];
                        sum += aidge_kit_multiply_s64((below != 0 ? row[2] : 1024 - row[2])
                                                          * (right != 0 ? column[2] : 1024 - column[2]),
                                                      value);
                    }
                    sum = sum < 0 ? -aidge_kit_shift_right_s64(-sum + 0x80000, 20) : aidge_kit_shift_right_s64(sum + 0x80000, 20);
                    if (wide != 0) {
                        ((int16_t *)output)[to] = (int16_t)sum;
                    } else {
                        ((int8_t *)output)[to] = (int8_t)sum;
                    }
                }
            }
        }
    }
}
