/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "../mve.h"
#include "kit/batches.h"

/* Batches of matrices [rows][inner] and [inner][columns] over 4 outer axes; steps in bytes, 0 repeats. */
typedef struct {
    int32_t dims[4], first_steps[4], second_steps[4];
    int32_t rows, inner, columns;
} aidge_helium_product_float32;

#if AIDGE_HELIUM_ASSEMBLY
/* 3 rows or 1 (`rows`, a literal) of up to 8 columns; is_whole, a literal: whether there are 8. */
AIDGE_KIT_INLINE void aidge_helium_product_tile(const float *a, const float *b, float *y, int32_t left, int32_t rows,
                                                int32_t is_whole, const aidge_helium_product_float32 *shape)
{
    const mve_pred16_t first = vctp32q((uint32_t)left);
    const mve_pred16_t second = vctp32q((uint32_t)(left > 4 ? left - 4 : 0));
    const int32_t columns = shape->columns;
    const float *const a1 = rows > 1 ? a + shape->inner : a;
    const float *const a2 = rows > 1 ? a1 + shape->inner : a;
    float32x4_t sum00 = vdupq_n_f32(0.0f), sum01 = sum00, sum10 = sum00, sum11 = sum00, sum20 = sum00, sum21 = sum00;
    int32_t k;
    AIDGE_KIT_ROLLED
    for (k = 0; k < shape->inner; k++) {
        const float32x4_t low = is_whole != 0 ? vldrwq_f32(b) : vldrwq_z_f32(b, first);
        const float32x4_t high = is_whole != 0 ? vldrwq_f32(b + 4) : vldrwq_z_f32(b + 4, second);
        const float factor = a[k];
        sum00 = vfmaq_n_f32(sum00, low, factor);
        sum01 = vfmaq_n_f32(sum01, high, factor);
        if (rows > 1) {
            const float factor1 = a1[k];
            const float factor2 = a2[k];
            sum10 = vfmaq_n_f32(sum10, low, factor1);
            sum11 = vfmaq_n_f32(sum11, high, factor1);
            sum20 = vfmaq_n_f32(sum20, low, factor2);
            sum21 = vfmaq_n_f32(sum21, high, factor2);
        }
        b += columns;
    }
    vstrwq_p_f32(y, sum00, first);
    vstrwq_p_f32(y + 4, sum01, second);
    if (rows > 1) {
        vstrwq_p_f32(y + columns, sum10, first);
        vstrwq_p_f32(y + columns + 4, sum11, second);
        vstrwq_p_f32(y + 2 * columns, sum20, first);
        vstrwq_p_f32(y + 2 * columns + 4, sum21, second);
    }
}

AIDGE_KIT_NOINLINE void aidge_helium_product_3_rows(const float *a, const float *b, float *y,
                                                    const aidge_helium_product_float32 *shape)
{
    int32_t left;
    for (left = shape->columns; left >= 8; left -= 8) {
        aidge_helium_product_tile(a, b, y, 8, 3, 1, shape);
        b += 8;
        y += 8;
    }
    if (left > 0) {
        aidge_helium_product_tile(a, b, y, left, 3, 0, shape);
    }
}

AIDGE_KIT_NOINLINE void aidge_helium_product_1_row(const float *a, const float *b, float *y,
                                                   const aidge_helium_product_float32 *shape)
{
    int32_t left;
    for (left = shape->columns; left > 0; left -= 8) {
        aidge_helium_product_tile(a, b, y, left, 1, 0, shape);
        b += 8;
        y += 8;
    }
}
#else
/* One row of results. */
static void aidge_helium_product_1_row(const float *a, const float *b, float *y, const aidge_helium_product_float32 *shape)
{
    int32_t column, k;
    for (column = 0; column < shape->columns; column++) {
        float sum = 0.0f;
        AIDGE_KIT_ROLLED
        for (k = 0; k < shape->inner; k++) {
            sum += a[k] * b[k * shape->columns + column];
        }
        y[column] = sum;
    }
}
#endif

/* Products of matrices of float32. */
static void aidge_helium_matmul_float32(const float *first, const float *second, float *output,
                                        const aidge_helium_product_float32 *shape)
{
    const int8_t *a = (const int8_t *)first;
    const int8_t *b = (const int8_t *)second;
    int32_t place[4] = {0, 0, 0, 0};
    do {
        const float *row = (const float *)(const void *)a;
        const float *const matrix = (const float *)(const void *)b;
        int32_t left = shape->rows;
#if AIDGE_HELIUM_ASSEMBLY
        for (; left >= 3; left -= 3) {
            aidge_helium_product_3_rows(row, matrix, output, shape);
            row += 3 * shape->inner;
            output += 3 * shape->columns;
        }
#endif
        for (; left > 0; left--) {
            aidge_helium_product_1_row(row, matrix, output, shape);
            row += shape->inner;
            output += shape->columns;
        }
    } while (aidge_kit_next_batch(place, shape->dims, shape->first_steps, shape->second_steps, &a, &b) != 0);
}
