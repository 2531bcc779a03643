/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "shared/float_model.h"

/* output[i] = clamp(x) between parameters {lowest, highest}; NaN stays NaN, i < count, float32. May work in place. */
static void aidge_ref_clip_float32(const float *input, float *output, const float *parameters, int32_t count)
{
    const float lowest = parameters[0];
    const float highest = parameters[1];
    int32_t i;
    for (i = 0; i < count; i++) {
        const float value = input[i];
        output[i] = value < lowest ? lowest : (value > highest ? highest : value);
    }
}
