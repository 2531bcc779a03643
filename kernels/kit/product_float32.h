/* SPDX-License-Identifier: 0BSD */
#include "batches.h"

/* Batches of matrices [rows][inner] and [inner][columns] over 4 outer axes; steps in bytes, 0 repeats. */
typedef struct {
    int32_t dims[4], first_steps[4], second_steps[4];
    int32_t rows, inner, columns;
} aidge_kit_product_float32;

/* Some rows times a matrix [inner][columns], of which the first `count` columns: the C version of the assembly. */
AIDGE_KIT_INLINE void aidge_kit_product_rows(const float *a, const float *b, float *y, int32_t rows, int32_t inner,
                                             int32_t columns, int32_t count)
{
    int32_t row, column, k;
    for (row = 0; row < rows; row++) {
        for (column = 0; column < count; column++) {
            float sum = 0.0f;
            for (k = 0; k < inner; k++) {
                sum += a[row * inner + k] * b[k * columns + column];
            }
            y[row * columns + column] = sum;
        }
    }
}
