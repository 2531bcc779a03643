/* SPDX-License-Identifier: 0BSD */
#include <stddef.h>

#include "normalize.h"

/* All rows normalized; epsilon points at one number; means and inverses of the deviations are kept where they are not 0. */
static void aidge_ref_normalize_float32(const float *input, const float *scale, const float *bias,
                                        float *output, float *means, float *inverses, const float *epsilon,
                                        int32_t with_mean, const aidge_ref_normalize_shape *shape)
{
    float statistics[2];
    int32_t row;
    for (row = 0; row < shape->rows; row++) {
        aidge_ref_row_statistics(input, shape->length, with_mean, *epsilon, statistics);
        aidge_ref_normalize_row(input, scale, bias, output, statistics, row, shape);
        if (means != NULL) {
            *means++ = statistics[0];
            *inverses++ = statistics[1];
        }
        input += shape->length;
        output += shape->length;
    }
}
