/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>

/*
 * output = the lowest value + how many keys the number has reached, float32 to int8; NaN becomes the zero point.
 *
 * keys: [256], the first one of no use, the others rising: patterns of floats as integers with a sign, those of negative ones
 * with the bits below the sign inverted.
 */

/* By comparing. */
static void aidge_ref_quantize_by_keys(const float *input, int8_t *output, const int32_t *keys, const int8_t *of_nan,
                                       int32_t count)
{
    for (; count > 0; count--) {
        const float number = *input++;
        int32_t key;
        (void)memcpy(&key, &number, sizeof key);
        if ((key & 0x7FFFFFFF) > 0x7F800000) {
            *output++ = *of_nan;
        } else {
            const int32_t *reached = keys;
            int32_t step;
            key ^= key < 0 ? 0x7FFFFFFF : 0;
            for (step = 128; step > 0; step >>= 1) {
                reached += key >= reached[step] ? step : 0;
            }
            *output++ = (int8_t)(reached - keys - 128);
        }
    }
}
