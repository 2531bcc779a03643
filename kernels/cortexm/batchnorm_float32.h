/* SPDX-License-Identifier: 0BSD */
#include "target.h"

#if !AIDGE_CORTEXM_FPU
/* (x - mean) * factor + bias of each channel within two limits: the C version of the generated functions. */
AIDGE_CORTEXM_C void aidge_cortexm_batchnorm_float32(const float *x, float *y, const float *numbers, const float *limits,
                                                     int32_t blocks, int32_t channels, int32_t inner)
{
    int32_t block, channel, i;
    for (block = 0; block < blocks; block++) {
        for (channel = 0; channel < channels; channel++) {
            const float factor = numbers[channels + channel];
            const float bias = numbers[2 * channels + channel];
            for (i = 0; i < inner; i++) {
                const float value = (*x++ - numbers[channel]) * factor + bias;
                const float raised = value < limits[0] ? limits[0] : value;
                *y++ = raised > limits[1] ? limits[1] : raised;
            }
        }
    }
}
#endif
