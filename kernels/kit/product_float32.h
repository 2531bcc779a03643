/* SPDX-License-Identifier: 0BSD */
#include "batches.h"
#include "multiply_add.h"

/*
 * Batches of matrices [rows][inner] and [inner][columns] over 4 outer axes; their steps in bytes, 0 repeats. `step`: the
 * elements between rows of the second matrix, or between its columns if the elements of a row are no neighbours.
 */
typedef struct {
    int32_t dims[4], first_steps[4], second_steps[4];
    int32_t rows, columns, inner, step;
} aidge_kit_product_float32;

/* Some rows times 4 columns, y in rows of shape->columns: the C version of the assembly. */
AIDGE_KIT_INLINE void aidge_kit_product_rows(const float *a, const float *b, float *y, int32_t rows, int32_t row_step,
                                             int32_t column_step, const aidge_kit_product_float32 *shape)
{
    int32_t row, column, k;
    for (row = 0; row < rows; row++) {
        for (column = 0; column < 4; column++) {
            float sum = 0.0f;
            for (k = 0; k < shape->inner; k++) {
                sum = aidge_kit_multiply_add(a[row * shape->inner + k], b[k * row_step + column * column_step], sum);
            }
            y[row * shape->columns + column] = sum;
        }
    }
}

/* The same with int8 levels in the second matrix. */
AIDGE_KIT_INLINE void aidge_kit_product_rows_bytes(const float *a, const int8_t *b, float *y, int32_t rows, int32_t row_step,
                                                   int32_t column_step, const aidge_kit_product_float32 *shape)
{
    int32_t row, column, k;
    for (row = 0; row < rows; row++) {
        for (column = 0; column < 4; column++) {
            float sum = 0.0f;
            for (k = 0; k < shape->inner; k++) {
                sum += a[row * shape->inner + k] * (float)b[k * row_step + column * column_step];
            }
            y[row * shape->columns + column] = sum;
        }
    }
}
