/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "kit/inline.h"

/*
 * Functions from float32 to int8 without float arithmetic.
 *
 * keys: rising patterns of floats as integers with a sign, patterns of negative floats with the bits below the sign inverted;
 *   the last key is one that no number reaches. levels: one more than keys.
 * cells: {shift, lowest cell}; firsts: for each cell how many keys its lowest number has reached (arithmetic/staircase.py).
 */
AIDGE_KIT_INLINE int32_t aidge_ref_pattern(float number)
{
    int32_t pattern;
    (void)memcpy(&pattern, &number, sizeof pattern);
    return pattern;
}

/* The cell of a number: its fraction with the leading bit, by `shift` less its exponent to the right, with its sign. */
AIDGE_KIT_INLINE int32_t aidge_ref_cell(int32_t pattern, uint32_t signs, int32_t shift)
{
    int32_t right = shift - (int32_t)(((uint32_t)pattern >> 23) & 0xFFu);
    right = right < 0 ? 0 : right;
    right = right > 31 ? 31 : right;
    return (int32_t)((((((uint32_t)pattern & 0x7FFFFFu) | 0x800000u)) >> right) ^ signs);
}
