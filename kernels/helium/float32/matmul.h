/* SPDX-License-Identifier: 0BSD */
#include "../mve.h"
#include "kit/batches.h"

/* Batches of products of matrices over 4 outer axes; steps in bytes, 0 repeats. */
typedef struct {
    int32_t dims[4], first_steps[4], second_steps[4];
} aidge_helium_product_float32;

#if !AIDGE_HELIUM_ASSEMBLY
/* Some rows times a matrix [inner][columns]. */
static void aidge_helium_product_rows(const float *a, const float *b, float *y, int32_t rows, int32_t inner, int32_t columns)
{
    int32_t row, column, k;
    for (row = 0; row < rows; row++) {
        for (column = 0; column < columns; column++) {
            float sum = 0.0f;
            for (k = 0; k < inner; k++) {
                sum += a[row * inner + k] * b[k * columns + column];
            }
            y[row * columns + column] = sum;
        }
    }
}
#endif
