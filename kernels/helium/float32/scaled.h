/* SPDX-License-Identifier: 0BSD */
#include "limited.h"

#if !AIDGE_HELIUM_ASSEMBLY
/*
 * output = limited((x - mean) * factor + bias) for each channel; tensors [blocks][channels][inner], numbers: means, factors and
 * biases of all channels. May work in place.
 */
static void aidge_helium_scaled_float32(const float *input, float *output, const float *numbers, const float *limits,
                                        int32_t blocks, int32_t channels, int32_t inner)
{
    const float *const factors = numbers + channels;
    const float *const biases = factors + channels;
    int32_t channel, i;
    for (; blocks > 0; blocks--) {
        for (channel = 0; channel < channels; channel++) {
            for (i = 0; i < inner; i++) {
                const float value = (*input++ - numbers[channel]) * factors[channel] + biases[channel];
                *output++ = aidge_helium_limited_float32(value, limits);
            }
        }
    }
}
#endif
