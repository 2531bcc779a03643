/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include "core/helium.h"
#include "kit/dynamic_range.h"
#include "kit/exact.h"

#if !AIDGE_HELIUM_ASSEMBLY
/* Levels, scale and zero point of numbers clamped between two bounds, from their own range including 0:
 * output = saturate(rint_half_even(input / scale) + zero point). */
static void aidge_helium_dynamic_quantize_c(const float *input, uint8_t *output, float *scale, uint8_t *zero_point,
                                            int32_t count, float lowest, float highest)
{
    float zero;
    const float step = aidge_kit_dynamic_range(input, count, lowest, highest, &zero);
    int32_t i;
    for (i = 0; i < count; i++) {
        const float level = rintf(aidge_kit_exact_quotient(input[i], step)) + zero;
        output[i] = (uint8_t)(level > 0.0f ? level < 255.0f ? level : 255.0f : 0.0f);
    }
    *scale = step;
    *zero_point = (uint8_t)zero;
}
#endif
