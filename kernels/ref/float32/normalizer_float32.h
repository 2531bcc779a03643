/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include "shared/float_model.h"

/* output = input / divisor; a row whose divisor is 0 stays. */
static void aidge_ref_divided_row_float32(const float *input, float *output, int32_t length, float divisor)
{
    int32_t i;
    for (i = 0; i < length; i++) {
        output[i] = divisor == 0.0f ? input[i] : input[i] / divisor;
    }
}

/* Each row divided by its largest element. */
static void aidge_ref_normalizer_max_float32(const float *input, float *output, int32_t rows, int32_t length)
{
    for (; rows > 0; rows--) {
        float largest = input[0];
        int32_t i;
        for (i = 1; i < length; i++) {
            largest = input[i] > largest ? input[i] : largest;
        }
        aidge_ref_divided_row_float32(input, output, length, largest);
        input += length;
        output += length;
    }
}

/* Each row divided by the sum of its magnitudes. */
static void aidge_ref_normalizer_l1_float32(const float *input, float *output, int32_t rows, int32_t length)
{
    for (; rows > 0; rows--) {
        float sum = 0.0f;
        int32_t i;
        for (i = 0; i < length; i++) {
            sum += fabsf(input[i]);
        }
        aidge_ref_divided_row_float32(input, output, length, sum);
        input += length;
        output += length;
    }
}

/* Each row divided by its length. */
static void aidge_ref_normalizer_l2_float32(const float *input, float *output, int32_t rows, int32_t length)
{
    for (; rows > 0; rows--) {
        float sum = 0.0f;
        int32_t i;
        for (i = 0; i < length; i++) {
            sum += input[i] * input[i];
        }
        aidge_ref_divided_row_float32(input, output, length, sqrtf(sum));
        input += length;
        output += length;
    }
}
