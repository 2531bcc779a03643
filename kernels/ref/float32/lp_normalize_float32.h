/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include "shared/float_model.h"
#include "shared/softmax_shape.h"

/* output = x / norm of the row, of order 1 or 2; 0 where the norm is 0; float32. */
static void aidge_ref_lp_normalize_float32(const float *input, float *output, int32_t order, const aidge_ref_softmax_shape *shape)
{
    const int32_t inner = shape->inner;
    const int32_t size = shape->length * inner;
    int32_t block, row, i;
    for (block = 0; block < shape->outer; block++) {
        for (row = 0; row < inner; row++) {
            float norm = 0.0f;
            for (i = row; i < size; i += inner) {
                norm += order == 1 ? fabsf(input[i]) : input[i] * input[i];
            }
            norm = order == 1 ? norm : sqrtf(norm);
            for (i = row; i < size; i += inner) {
                output[i] = norm > 0.0f ? input[i] / norm : 0.0f;
            }
        }
        input += size;
        output += size;
    }
}
