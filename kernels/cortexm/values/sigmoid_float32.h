/* SPDX-License-Identifier: 0BSD */
#include "rows/softmax_float32.h"

/* output[i] = 1 / (1 + e^-x), i < count: of e = e^-|x|, so that it is as exact far below 0 as elsewhere. May work in place. */
static void aidge_cortexm_sigmoid_float32(const float *input, float *output, int32_t count)
{
    for (; count > 0; count--) {
        const float value = *input;
        const float part = aidge_cortexm_exp(-fabsf(value));
        *output = (value < 0.0f ? part : 1.0f) / (1.0f + part);
        input++;
        output++;
    }
}
