/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stddef.h>
#include "target.h"
#include "kit/exact.h"

#if !AIDGE_CORTEXM_FPU
/* The C version of the generated functions: bytes of either type, or int16 where the limits are wider. */
AIDGE_CORTEXM_C void aidge_cortexm_quantize_portable(const float *input, uint8_t *output, int16_t *wide, float scale,
                                                     int32_t zero_point, int32_t count, int32_t lowest, int32_t highest)
{
    int32_t i;
    for (i = 0; i < count; i++) {
        float level = rintf(aidge_kit_exact_quotient(input[i], scale));
        int32_t value;
        level = level >= -65536.0f ? level : (level < -65536.0f ? -65536.0f : 0.0f);
        value = (int32_t)(level > 65536.0f ? 65536.0f : level) + zero_point;
        value = value < lowest ? lowest : value;
        value = value > highest ? highest : value;
        if (lowest < INT8_MIN) {
            wide[i] = (int16_t)value;
        } else {
            output[i] = (uint8_t)value;
        }
    }
}
#endif
