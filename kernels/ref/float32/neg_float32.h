/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "shared/float_model.h"

/* output[i] = -x, i < count, float32. May work in place. */
static void aidge_ref_neg_float32(const float *input, float *output, int32_t count)
{
    int32_t i;
    for (i = 0; i < count; i++) {
        const float value = input[i];
        output[i] = -value;
    }
}
