/* SPDX-License-Identifier: 0BSD */
#include "normalize.h"

/* All rows normalized, with the mean and 1 / sqrt(variance + epsilon) of each; epsilon points at one number. */
static void aidge_ref_normalize_statistics_float32(const float *input, const float *scale, const float *bias,
                                                   float *output, float *means,
                                                   float *inverses, const float *epsilon, const aidge_ref_normalize_shape *shape)
{
    float statistics[2];
    int32_t row;
    for (row = 0; row < shape->rows; row++) {
        aidge_ref_row_statistics(input, shape->length, 1, *epsilon, statistics);
        aidge_ref_normalize_row(input, scale, bias, output, statistics, row, shape);
        *means++ = statistics[0];
        *inverses++ = statistics[1];
        input += shape->length;
        output += shape->length;
    }
}
