/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

/*
 * output = sat8((input < zero ? input * a + b : input * c + d) >> shift) with {a, b, c, d} of each channel in lines, channels
 * last. The generator has proved that no sum leaves int32. May work in place.
 */
static void aidge_ref_prelu_int8(const int8_t *input, int8_t *output, const int32_t *lines, int32_t shift,
                                 int32_t channels, int32_t pixels, int32_t zero)
{
    int32_t channel, left, value;
    for (channel = 0; channel < channels; channel++, lines += 4) {
        const int32_t a = lines[0], b = lines[1], c = lines[2], d = lines[3];
        const int8_t *read = input + channel;
        int8_t *written = output + channel;
        for (left = pixels; left > 0; left--) {
            value = *read;
            value = (value < zero ? value * a + b : value * c + d) >> shift;
            *written = (int8_t)(value < -128 ? -128 : value > 127 ? 127 : value);
            read += channels;
            written += channels;
        }
    }
}
