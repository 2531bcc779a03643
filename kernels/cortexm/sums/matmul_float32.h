/* SPDX-License-Identifier: 0BSD */
#include "core/target.h"
#include "kit/product_float32.h"

/* 1 row by 4 columns. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_product_1x4(const float *a, const float *b, float *y,
                                                      const aidge_kit_product_float32 *shape)
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
