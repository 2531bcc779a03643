/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "shared/float_model.h"

/* output[i] = x * max(0, min(1, x / 6 + 1/2)), i < count, float32. May work in place. */
static void aidge_ref_hard_swish_float32(const float *input, float *output, int32_t count)
{
    int32_t i;
    for (i = 0; i < count; i++) {
        const float value = input[i];
        float gate = value * (1.0f / 6.0f) + 0.5f;
        gate = gate < 0.0f ? 0.0f : gate;
        gate = gate > 1.0f ? 1.0f : gate;
        output[i] = value * gate;
    }
}
