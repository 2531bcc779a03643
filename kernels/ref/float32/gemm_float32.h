/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "shared/float_model.h"
#include "kit/multiply_add.h"

/*
 * Batches of matrix products [rows][inner] x [inner][columns] over 4 outer axes; every tensor has steps of its own, in
 * elements. A step of 0 repeats: broadcasting.
 */
typedef struct {
    int32_t dims[4], first_batch_steps[4], second_batch_steps[4];
    int32_t rows, inner, columns;
    int32_t first_row_step, first_inner_step;
    int32_t second_inner_step, second_column_step;
    int32_t third_row_step, third_column_step;
} aidge_ref_gemm_shape;

/* output = alpha * first * second + beta * third, float32; factors: {alpha, beta}; output is row-major. */
static void aidge_ref_gemm_float32(const float *first, const float *second, const float *third, float *output,
                                   const float *factors, const aidge_ref_gemm_shape *shape)
{
    const int32_t batches = shape->dims[0] * shape->dims[1] * shape->dims[2] * shape->dims[3];
    int32_t batch, axis, row, column, k;
    for (batch = 0; batch < batches; batch++) {
        const float *a_row = first;
        const float *b_matrix = second;
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
                const float *b = b_matrix + column * shape->second_column_step;
                float sum = 0.0f;
                for (k = shape->inner; k > 0; k--) {
                    sum = aidge_kit_multiply_add(*a, *b, sum);
                    a += shape->first_inner_step;
                    b += shape->second_inner_step;
                }
                k = row * shape->third_row_step + column * shape->third_column_step;
                *output++ = aidge_kit_multiply_add(factors[0], sum, aidge_kit_exact(factors[1] * third[k]));
            }
            a_row += shape->first_row_step;
        }
    }
}
