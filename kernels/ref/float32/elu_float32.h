/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include "shared/float_model.h"

/* output[i] = x for x >= 0, else alpha * (e^x - 1) with parameters {alpha}, i < count, float32. May work in place. */
static void aidge_ref_elu_float32(const float *input, float *output, const float *parameters, int32_t count)
{
    const float alpha = parameters[0];
    int32_t i;
    for (i = 0; i < count; i++) {
        const float value = input[i];
        output[i] = value < 0.0f ? alpha * expm1f(value) : value;
    }
}
