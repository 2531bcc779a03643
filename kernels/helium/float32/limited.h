/* SPDX-License-Identifier: 0BSD */
#include "core/helium.h"

/* The value within limits {lowest, highest}; NaN stays NaN. */
AIDGE_KIT_INLINE float aidge_helium_limited_float32(float value, const float *limits)
{
    value = value < limits[0] ? limits[0] : value;
    return value > limits[1] ? limits[1] : value;
}
