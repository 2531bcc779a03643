/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>

/*
 * output = the lowest value + how many keys the number has reached, float32 to int8; NaN becomes `of_nan`.
 *
 * keys: [256], the first one of no use, the others rising: patterns of floats as integers with a sign, those of negative ones
 * with the bits below the sign inverted.
 */
static void aidge_ref_quantize_by_keys(const float *input, int8_t *output, const int32_t *keys, const int8_t *of_nan,
                                       int32_t count)
{
    for (; count > 0; count--) {
        int32_t key;
        memcpy(&key, input++, sizeof key);
        if ((key & 0x7FFFFFFF) > 0x7F800000) {
            *output++ = *of_nan;
        } else {
            const int32_t *reached = keys;
            key ^= key < 0 ? 0x7FFFFFFF : 0;
            if (key >= reached[128]) {
                reached += 128;
            }
            if (key >= reached[64]) {
                reached += 64;
            }
            if (key >= reached[32]) {
                reached += 32;
            }
            if (key >= reached[16]) {
                reached += 16;
            }
            if (key >= reached[8]) {
                reached += 8;
            }
            if (key >= reached[4]) {
                reached += 4;
            }
            if (key >= reached[2]) {
                reached += 2;
            }
            if (key >= reached[1]) {
                reached += 1;
            }
            *output++ = (int8_t)(reached - keys - 128);
        }
    }
}
