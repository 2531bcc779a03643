/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "kit/inline.h"
#include "int8/piece_int8.h"
#include "kit/window2d.h"
#include "shared/float_model.h"

/* The float as it is in memory: what is computed with it is not fused with what gave it. */
AIDGE_KIT_INLINE float aidge_ref_rounded_float(float value)
{
    volatile float kept = value;
    return kept;
}

/* The result without a clamp; numbers: factor, which the scale is in, and bias of each output channel. */
AIDGE_KIT_INLINE float aidge_ref_known_value(int32_t sum, const float *numbers, float scale, const float *bounds)
{
    (void)scale;
    (void)bounds;
    return aidge_ref_rounded_float((float)sum * numbers[0]) + numbers[1];
}

/* {lowest, highest} of the result; numbers: factor and bias of each output channel. */
AIDGE_KIT_INLINE float aidge_ref_dynamic_value(int32_t sum, const float *numbers, float scale, const float *bounds)
{
    const float value = aidge_ref_rounded_float((float)sum * aidge_ref_rounded_float(scale * numbers[0])) + numbers[1];
    const float raised = value < bounds[0] ? bounds[0] : value;
    return raised > bounds[1] ? bounds[1] : raised;
}
