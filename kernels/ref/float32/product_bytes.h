/* SPDX-License-Identifier: 0BSD */
#include "gemm_float32.h"

/* output = first * second, where the second matrix holds int8 levels. */
static void aidge_ref_product_bytes(const float *first, const int8_t *second, float *output, const aidge_ref_gemm_shape *shape)
{
    const int32_t batches = shape->dims[0] * shape->dims[1] * shape->dims[2] * shape->dims[3];
    int32_t batch, axis, row, column, k;
    for (batch = 0; batch < batches; batch++) {
        const float *a_row = first;
        const int8_t *b_matrix = second;
        int32_t rest = batch;
        for (axis = 3; axis >= 0; axis--) {
            const int32_t index = rest % shape->dims[axis];
            rest /= shape->dims[axis];
            a_row += index * shape->first_batch_steps[axis];
            b_matrix += index * shape->second_batch_steps[axis];
        }
        for (row = 0; row < shape->rows; row++) {
            for (column = 0; column < shape->columns; column++) {
                const float *a = a_row;
                const int8_t *b = b_matrix + column * shape->second_column_step;
                float sum = 0.0f;
                for (k = shape->inner; k > 0; k--) {
                    sum += *a * (float)*b;
                    a += shape->first_inner_step;
                    b += shape->second_inner_step;
                }
                *output++ = sum;
            }
            a_row += shape->first_row_step;
        }
    }
}
