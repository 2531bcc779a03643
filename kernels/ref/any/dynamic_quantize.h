/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include "shared/float_model.h"
#include "kit/dynamic_range.h"
#include "kit/exact.h"

/* uint8 values, scale and zero point of `count` float32 numbers, clamped between two bounds, from their own range including 0. */
static void aidge_ref_dynamic_quantize(const float *input, uint8_t *output, float *scale, uint8_t *zero_point,
    const float *bounds, int32_t count)
{
    float zero;
    const float step = aidge_kit_dynamic_range(input, count, bounds[0], bounds[1], &zero);
    int32_t i;
    for (i = 0; i < count; i++) {
        float level = rintf(aidge_kit_exact_quotient(input[i], step)) + zero;
        level = level >= 0.0f ? level : 0.0f;
        output[i] = (uint8_t)(level > 255.0f ? 255.0f : level);
    }
    *scale = step;
    *zero_point = (uint8_t)zero;
}
