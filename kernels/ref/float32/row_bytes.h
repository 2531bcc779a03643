/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "shared/float_model.h"

/* Rows of `count` numbers become levels of -127 to 127 with a scale for each row; rows below 1e-30 become zeros. */
static void aidge_ref_row_bytes(const float *input, int8_t *output, float *scales, int32_t rows, int32_t count)
{
    const float whole = 12582912.0f; /* 1.5 * 2^23: numbers beside it have no fraction */
    int32_t row, i;
    for (row = 0; row < rows; row++) {
        float largest = 1e-30f;
        float factor = 0.0f;
        for (i = 0; i < count; i++) {
            const float magnitude = input[i] < 0.0f ? -input[i] : input[i];
            largest = magnitude > largest ? magnitude : largest;
        }
        scales[row] = 0.0f;
        if (largest > 1e-30f) {
            factor = 127.0f / largest;
            scales[row] = largest / 127.0f;
        }
        for (i = 0; i < count; i++) {
            const float level = (input[i] * factor + whole) - whole;
            output[i] = (int8_t)(level == level ? level : 0.0f);
        }
        input += count;
        output += count;
    }
}
