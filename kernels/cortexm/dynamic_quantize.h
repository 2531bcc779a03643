/* SPDX-License-Identifier: 0BSD */
#include "quantize.h"

#if !AIDGE_CORTEXM_FPU
/* The C version of the generated functions: it promises nothing of the levels. */
AIDGE_CORTEXM_C int32_t aidge_cortexm_measure_portable(const float *input, float *scale, uint8_t *zero_point, int32_t count)
{
    float low = 0.0f;
    float high = 0.0f;
    float step, zero;
    int32_t i;
    for (i = 0; i < count; i++) {
        low = input[i] < low ? input[i] : low;
        high = input[i] > high ? input[i] : high;
    }
    step = (high - low) / 255.0f;
    step = step > 0.0f ? step : 1.0f;
    zero = rintf(-low / step);
    *scale = step;
    *zero_point = (uint8_t)(zero > 255.0f ? 255.0f : zero);
    return 0;
}
#endif
