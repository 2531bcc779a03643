/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>

/*
 * output = the lowest value + how many keys the number has reached, float32 to int8; NaN becomes the zero point.
 *
 * keys: [256], the first one of no use, the others rising: patterns of floats as integers with a sign, those of negative ones
 * with the bits below the sign inverted.
 */

/* By a guess that misses one key at most; guess: the fields of float_thresholds.KeyGuess. */
static void aidge_ref_quantize_by_guess(const float *input, int8_t *output, const int32_t *keys, const int32_t *guess,
                                        int32_t count)
{
    const uint32_t first = (uint32_t)guess[0];
    const uint32_t span = (uint32_t)guess[1];
    const int32_t shift = guess[2];
    const uint32_t multiplier = (uint32_t)guess[3];
    const uint32_t start = (uint32_t)guess[4];
    const int32_t zero = guess[5];
    for (; count > 0; count--) {
        const float number = *input++; /* before its bytes are taken: what is known of its address would be lost */
        uint32_t pattern, magnitude;
        int32_t place, sign;
        (void)memcpy(&pattern, &number, sizeof pattern);
        magnitude = pattern << 1;
        sign = (pattern >> 31) != 0u ? -1 : 0;
        if (magnitude - first < span) {
            const uint32_t value = ((pattern << 8) | 0x80000000u) >> (shift - (int32_t)(magnitude >> 24));
            place = zero + ((int32_t)((value * multiplier + start) >> 22) ^ sign);
            if ((uint32_t)place > 254u) {
                place = place < 0 ? 0 : 254;
            }
            if ((int32_t)(pattern ^ ((uint32_t)sign >> 1)) >= keys[place + 1]) {
                place++;
            }
        } else {
            place = (magnitude < first) || (magnitude > 0xFF000000u) ? zero : 255 & ~sign;
        }
        *output++ = (int8_t)(place - 128);
    }
}
