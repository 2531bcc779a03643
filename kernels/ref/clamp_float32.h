/* SPDX-License-Identifier: 0BSD */
#include "float_model.h"
#include "inline.h"

/* The value within bounds[0]..bounds[1]; NaN stays NaN. */
AIDGE_REF_INLINE float aidge_ref_clamp_float32(float value, const float *bounds)
{
    value = value < bounds[0] ? bounds[0] : value;
    return value > bounds[1] ? bounds[1] : value;
}
