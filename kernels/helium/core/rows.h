/* SPDX-License-Identifier: 0BSD */
#include "copies.h"

/* Row `top` of the input (maybe negative) and the rows below it go to scratch; rows outside hold the zero point. */
static void aidge_helium_rows(const int8_t *x, int8_t *scratch, int32_t top, int32_t zero_point,
                              const aidge_helium_rows_shape *shape)
{
    int32_t row;
    scratch += shape->left;
    for (row = 0; row < shape->rows; row++) {
        if ((top >= 0) && (top < shape->in_height)) {
            aidge_helium_copy(scratch, x + top * shape->in_row_bytes, shape->copied);
        } else {
            aidge_helium_fill(scratch, zero_point, shape->copied);
        }
        scratch += shape->row_bytes;
        top += shape->dilation;
    }
}
