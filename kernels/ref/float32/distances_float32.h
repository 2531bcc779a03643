/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include "squared_distances_float32.h"

/* output[rows][others] = |first[row] - second[other]|, float32. */
static void aidge_ref_distances_float32(const float *first, const float *second, float *output, int32_t rows, int32_t others,
                                        int32_t length)
{
    int32_t i;
    aidge_ref_squared_distances_float32(first, second, output, rows, others, length);
    for (i = 0; i < rows * others; i++) {
        output[i] = sqrtf(output[i]);
    }
}
