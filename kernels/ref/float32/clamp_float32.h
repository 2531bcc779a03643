/* SPDX-License-Identifier: 0BSD */
#include "shared/float_model.h"
#include "kit/inline.h"

/* The value within bounds[0]..bounds[1]; NaN stays NaN. */
AIDGE_KIT_INLINE float aidge_ref_clamp_float32(float value, const float *bounds)
{
    value = value < bounds[0] ? bounds[0] : value;
    return value > bounds[1] ? bounds[1] : value;
}
