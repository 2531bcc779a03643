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
            reached += key >= reached[128] ? 128 : 0;
            reached += key >= reached[64] ? 64 : 0;
            reached += key >= reached[32] ? 32 : 0;
            reached += key >= reached[16] ? 16 : 0;
            reached += key >= reached[8] ? 8 : 0;
            reached += key >= reached[4] ? 4 : 0;
            reached += key >= reached[2] ? 2 : 0;
            reached += key >= reached[1] ? 1 : 0;
            *output++ = (int8_t)(reached - keys - 128);
        }
    }
}
