/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include "shared/float_model.h"
#include "kit/exact.h"
#include "shared/softmax_shape.h"

/* output = x - largest of the row - ln(sum of e^(x - largest)), float32. */
static void aidge_ref_log_softmax_float32(const float *input, float *output, const aidge_ref_softmax_shape *shape)
{
    const int32_t inner = shape->inner;
    const int32_t size = shape->length * inner;
    int32_t block, row, i;
    for (block = 0; block < shape->outer; block++) {
        for (row = 0; row < inner; row++) {
            float largest = input[row];
            float sum = 0.0f;
            for (i = row; i < size; i += inner) {
                largest = input[i] > largest ? input[i] : largest;
            }
            for (i = row; i < size; i += inner) {
                sum += expf(input[i] - largest);
            }
            sum = logf(sum);
            for (i = row; i < size; i += inner) {
                output[i] = aidge_kit_exact(input[i] - largest) - sum;
            }
        }
        input += size;
        output += size;
    }
}
