/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "shared/float_model.h"
#include "shared/softmax_shape.h"

/* output = 1 at the first largest element of each row, 0 elsewhere, float32. */
static void aidge_ref_hardmax_float32(const float *input, float *output, const aidge_ref_softmax_shape *shape)
{
    const int32_t inner = shape->inner;
    const int32_t size = shape->length * inner;
    int32_t block, row, i;
    for (block = 0; block < shape->outer; block++) {
        for (row = 0; row < inner; row++) {
            int32_t best = row;
            for (i = row; i < size; i += inner) {
                best = input[i] > input[best] ? i : best;
            }
            for (i = row; i < size; i += inner) {
                output[i] = i == best ? 1.0f : 0.0f;
            }
        }
        input += size;
        output += size;
    }
}
