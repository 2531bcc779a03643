/* SPDX-License-Identifier: 0BSD */
#include "four.h"

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
#if AIDGE_HELIUM_ASSEMBLY
    const int32_t length = inner == 1 ? channels : inner;
    for (; blocks > 0; blocks--) {
        for (channel = 0; channel < channels; channel += inner == 1 ? channels : 1) {
            for (i = 0; i < length; i += 4) {
                const mve_pred16_t mask = vctp32q((uint32_t)(length - i));
                float32x4_t x = vldrwq_z_f32(input + i, mask);
                if (inner == 1) {
                    x = vmulq_f32(vsubq_f32(x, vldrwq_z_f32(numbers + i, mask)), vldrwq_z_f32(factors + i, mask));
                    x = vaddq_f32(x, vldrwq_z_f32(biases + i, mask));
                } else {
                    x = vaddq_n_f32(vmulq_n_f32(vsubq_n_f32(x, numbers[channel]), factors[channel]), biases[channel]);
                }
                vstrwq_p_f32(output + i, aidge_helium_limited_4(x, limits), mask);
            }
            input += length;
            output += length;
        }
    }
#else
    for (; blocks > 0; blocks--) {
        for (channel = 0; channel < channels; channel++) {
            for (i = 0; i < inner; i++) {
                const float value = (*input++ - numbers[channel]) * factors[channel] + biases[channel];
                *output++ = aidge_helium_limited_float32(value, limits);
            }
        }
    }
#endif
}
