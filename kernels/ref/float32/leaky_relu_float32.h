/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "shared/float_model.h"

/* output[i] = x for x >= 0, else x * parameters {alpha}, i < count, float32. May work in place. */
static void aidge_ref_leaky_relu_float32(const float *input, float *output, const float *parameters, int32_t count)
{
    const float alpha = parameters[0];
    int32_t i;
    for (i = 0; i < count; i++) {
        const float value = input[i];
        output[i] = value < 0.0f ? value * alpha : value;
    }
}
