/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "shared/float_model.h"

/* output[i] = max(0, min(1, alpha * x + beta)) with parameters {alpha, beta}, i < count, float32. May work in place. */
static void aidge_ref_hard_sigmoid_float32(const float *input, float *output, const float *parameters, int32_t count)
{
    const float alpha = parameters[0];
    const float beta = parameters[1];
    int32_t i;
    for (i = 0; i < count; i++) {
        const float value = input[i];
        float gate = alpha * value + beta;
        gate = gate < 0.0f ? 0.0f : gate;
        gate = gate > 1.0f ? 1.0f : gate;
        output[i] = gate;
    }
}
