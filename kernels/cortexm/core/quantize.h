/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include "target.h"
#include "kit/exact.h"

#if !AIDGE_CORTEXM_FPU
/* The C version of the generated functions of uint8. */
AIDGE_CORTEXM_C void aidge_cortexm_quantize_portable(const float *input, uint8_t *output, float scale, int32_t zero_point,
                                                     int32_t count)
{
    int32_t i;
    for (i = 0; i < count; i++) {
        float level = rintf(aidge_kit_exact_quotient(input[i], scale));
        int32_t value;
        level = level >= -65536.0f ? level : (level < -65536.0f ? -65536.0f : 0.0f);
        value = (int32_t)(level > 65536.0f ? 65536.0f : level) + zero_point;
        value = value < 0 ? 0 : value;
        output[i] = (uint8_t)(value > 255 ? 255 : value);
    }
}
#endif
