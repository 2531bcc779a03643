/* SPDX-License-Identifier: 0BSD */
#include "kit/batches.h"
#include "target.h"

/* Batches of matrices [rows][inner] and [inner][columns] over 4 outer axes; steps in bytes, 0 repeats. */
typedef struct {
    int32_t dims[4], first_steps[4], second_steps[4];
    int32_t rows, inner, columns;
} aidge_cortexm_product_float32;

#if !AIDGE_CORTEXM_FPU
/* The C version of the generated function: 4 rows by 4 columns, 16 sums. */
AIDGE_CORTEXM_C void aidge_cortexm_product_4x4_portable(const float *a, const float *b, float *y,
                                                        const aidge_cortexm_product_float32 *shape)
{
    const float *const a1 = a + shape->inner;
    const float *const a2 = a1 + shape->inner;
    const float *const a3 = a2 + shape->inner;
    float sums[16];
    int32_t k, row;
    for (k = 0; k < 16; k++) {
        sums[k] = 0.0f;
    }
    for (k = 0; k < shape->inner; k++) {
        const float b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
        sums[0] += a[k] * b0;
        sums[1] += a[k] * b1;
        sums[2] += a[k] * b2;
        sums[3] += a[k] * b3;
        sums[4] += a1[k] * b0;
        sums[5] += a1[k] * b1;
        sums[6] += a1[k] * b2;
        sums[7] += a1[k] * b3;
        sums[8] += a2[k] * b0;
        sums[9] += a2[k] * b1;
        sums[10] += a2[k] * b2;
        sums[11] += a2[k] * b3;
        sums[12] += a3[k] * b0;
        sums[13] += a3[k] * b1;
        sums[14] += a3[k] * b2;
        sums[15] += a3[k] * b3;
        b += shape->columns;
    }
    for (row = 0; row < 16; row += 4) {
        y[0] = sums[row];
        y[1] = sums[row + 1];
        y[2] = sums[row + 2];
        y[3] = sums[row + 3];
        y += shape->columns;
    }
}
#endif

/* 1 row by 4 columns. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_product_1x4(const float *a, const float *b, float *y,
                                                      const aidge_cortexm_product_float32 *shape)
{
    float sum0 = 0.0f, sum1 = 0.0f, sum2 = 0.0f, sum3 = 0.0f;
    int32_t k;
    for (k = 0; k < shape->inner; k++) {
        sum0 += a[k] * b[0];
        sum1 += a[k] * b[1];
        sum2 += a[k] * b[2];
        sum3 += a[k] * b[3];
        b += shape->columns;
    }
    y[0] = sum0;
    y[1] = sum1;
    y[2] = sum2;
    y[3] = sum3;
}
