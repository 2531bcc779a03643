/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "shared/float_model.h"

/* output = (input - offset) * scale, float32; pairs: {offset, scale} of each column. */
static void aidge_ref_scaler_float32(const float *input, float *output, const float *pairs, int32_t count, int32_t columns)
{
    int32_t i;
    int32_t column = 0;
    for (i = 0; i < count; i++) {
        output[i] = (input[i] - pairs[2 * column]) * pairs[2 * column + 1];
        column = column + 1 == columns ? 0 : column + 1;
    }
}
