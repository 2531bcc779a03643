/* SPDX-License-Identifier: 0BSD */
#include "shared/channels.h"
#include "shared/float_model.h"
#include "kit/exact.h"

/*
 * output = saturate(rint_half_even(x / scale) + zero point), float32 to int8; NaN becomes the zero point.
 *
 * scales, zero_points: [channels]. Between -256 and 256 adding 1.5 * 2^23 rounds half to even; beyond, the result is
 * saturated anyway.
 */
static void aidge_ref_quantize_float32_int8(const float *input, int8_t *output, const float *scales, const int32_t *zero_points,
                                            const aidge_ref_channels_shape *shape)
{
    const float magic = 12582912.0f;
    int32_t block, channel, i;
    for (block = 0; block < shape->outer; block++) {
        for (channel = 0; channel < shape->channels; channel++) {
            for (i = 0; i < shape->inner; i++) {
                volatile float shifted;
                float level = aidge_kit_exact_quotient(*input++, scales[channel]);
                int32_t value;
                level = level >= -256.0f ? level : (level < -256.0f ? -256.0f : 0.0f);
                level = level > 256.0f ? 256.0f : level;
                shifted = level + magic; /* volatile: a wider intermediate would not round here */
                value = (int32_t)(shifted - magic) + zero_points[channel];
                value = value < -128 ? -128 : value;
                *output++ = (int8_t)(value > 127 ? 127 : value);
            }
        }
    }
}
