/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

/*
 * output = sat8((sat8((input * a + b) >> first) * c + d) >> second) with {a, b, c, d} of each channel in lines, channels last.
 * The generator has proved that no sum leaves int32. May work in place.
 */
static void aidge_ref_channel_lines_int8(const int8_t *input, int8_t *output, const int32_t *lines, const int32_t *shifts,
                                         int32_t channels, int32_t pixels)
{
    const int32_t first = shifts[0], second = shifts[1], count = channels * pixels;
    int32_t channel, place, value;
    for (channel = 0; channel < channels; channel++, lines += 4) {
        const int32_t a = lines[0], b = lines[1], c = lines[2], d = lines[3];
        for (place = channel; place < count; place += channels) {
            value = (input[place] * a + b) >> first;
            value = value < -128 ? -128 : value > 127 ? 127 : value;
            value = (value * c + d) >> second;
            output[place] = (int8_t)(value < -128 ? -128 : value > 127 ? 127 : value);
        }
    }
}

/* output = sat8((input * a + b) >> shift) with {a, b} of each channel in lines, as above. */
static void aidge_ref_channel_line_int8(const int8_t *input, int8_t *output, const int32_t *lines, const int32_t *shifts,
                                        int32_t channels, int32_t pixels)
{
    const int32_t shift = shifts[0], count = channels * pixels;
    int32_t channel, place, value;
    for (channel = 0; channel < channels; channel++, lines += 2) {
        const int32_t a = lines[0], b = lines[1];
        for (place = channel; place < count; place += channels) {
            value = (input[place] * a + b) >> shift;
            output[place] = (int8_t)(value < -128 ? -128 : value > 127 ? 127 : value);
        }
    }
}
