/* SPDX-License-Identifier: 0BSD */
#include "kit/dynamic_range.h"
#include "core/quantize.h"

#if !AIDGE_CORTEXM_FPU
/* The C version of the generated functions: it promises nothing of the levels. */
AIDGE_CORTEXM_C int32_t aidge_cortexm_measure_portable(const float *input, float *scale, uint8_t *zero_point, int32_t count,
                                                      float lowest, float highest)
{
    float zero;
    *scale = aidge_kit_dynamic_range(input, count, lowest, highest, &zero);
    *zero_point = (uint8_t)zero;
    return 0;
}
#endif
