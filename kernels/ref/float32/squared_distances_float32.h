/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "shared/float_model.h"

/* output[rows][others] = |first[row] - second[other]|^2, float32. */
static void aidge_ref_squared_distances_float32(const float *first, const float *second, float *output, int32_t rows,
                                                int32_t others, int32_t length)
{
    for (; rows > 0; rows--) {
        const float *row = second;
        int32_t other, i;
        for (other = 0; other < others; other++) {
            float sum = 0.0f;
            for (i = 0; i < length; i++) {
                const float difference = first[i] - row[i];
                sum += difference * difference;
            }
            *output++ = sum;
            row += length;
        }
        first += length;
    }
}
