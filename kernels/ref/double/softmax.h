/* SPDX-License-Identifier: 0BSD */
#include "shared/float_model.h"
#include "shared/softmax_shape.h"

/*
 * Softmax, int8, in float32: with e[k] = terms[k] at k = (largest value of the row) - x and S the sum of e over the row in order,
 * output = saturate(floor(e * (1 / (S * scale)) + 1/2) + zero point).
 *
 * terms: [256]; scale: {that of the output}.
 */
static void aidge_ref_softmax_double_int8(const int8_t *input, int8_t *output, const float *terms, const float *scale,
                                          const int32_t *zero_point, const aidge_ref_softmax_shape *shape)
{
    const int32_t inner = shape->inner;
    const int32_t size = shape->length * inner;
    int32_t block, row, i;
    for (block = 0; block < shape->outer; block++) {
        for (row = 0; row < inner; row++) {
            int32_t largest = -128;
            float sum = 0.0f;
            float factor;
            for (i = row; i < size; i += inner) {
                largest = input[i] > largest ? input[i] : largest;
            }
            for (i = row; i < size; i += inner) {
                sum += terms[largest - input[i]];
            }
            factor = sum * *scale;
            factor = 1.0f / factor;
            for (i = row; i < size; i += inner) {
                volatile float product = terms[largest - input[i]] * factor; /* rounded before the sum: no fused operation */
                const int32_t value = (int32_t)(product + 0.5f) + *zero_point;
                output[i] = (int8_t)(value > 127 ? 127 : value);
            }
        }
        input += size;
        output += size;
    }
}
