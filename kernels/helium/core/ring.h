/* SPDX-License-Identifier: 0BSD */
#include "copies.h"

/*
 * The rows of the input that output row `number` sees go to scratch, with a pointer to each; rows that the output row before
 * saw already stay where they are. Rows outside of the input hold the zero point.
 */
static void aidge_helium_ring(const int8_t *x, int8_t *scratch, const int8_t **pointers, int32_t number, int32_t stride,
                              int32_t pad, int32_t zero_point, const aidge_helium_rows_shape *shape)
{
    const int is_ring = (shape->dilation == 1) ? 1 : 0;
    int32_t row;
    int32_t slot = is_ring ? (number * stride) % shape->rows : 0;
    for (row = 0; row < shape->rows; row++) {
        int8_t *place = scratch + slot * shape->row_bytes;
        if ((number == 0) || !is_ring || (row >= shape->rows - stride)) {
            const int32_t position = number * stride + row * shape->dilation - pad;
            if ((position >= 0) && (position < shape->in_height)) {
                aidge_helium_copy(place + shape->left, x + position * shape->in_row_bytes, shape->copied);
            } else {
                aidge_helium_fill(place + shape->left, zero_point, shape->copied);
            }
        }
        pointers[row] = place;
        slot = slot + 1 == shape->rows ? 0 : slot + 1;
    }
}
