/* SPDX-License-Identifier: 0BSD */
#include "target.h"

/*
 * The stream of words of a float32 layer: for each group of output channels 4 * its first channel, biases, then for each tap
 * one weight for each channel of the group; floats as their bits. limits: {lowest, highest} of the output.
 */
AIDGE_CORTEXM_INLINE float aidge_cortexm_real(int32_t bits)
{
    float value;
    (void)memcpy(&value, &bits, sizeof value);
    return value;
}

AIDGE_CORTEXM_INLINE float aidge_cortexm_limit(float value, const float *limits)
{
    value = value < limits[0] ? limits[0] : value;
    return value > limits[1] ? limits[1] : value;
}
