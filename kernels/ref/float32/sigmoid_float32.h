/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include "shared/float_model.h"

/* output[i] = 1 / (1 + e^-x), i < count, float32. May work in place. */
static void aidge_ref_sigmoid_float32(const float *input, float *output, int32_t count)
{
    int32_t i;
    for (i = 0; i < count; i++) {
        const float value = input[i];
        output[i] = 1.0f / (1.0f + expf(-value));
    }
}
