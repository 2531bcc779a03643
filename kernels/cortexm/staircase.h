/* SPDX-License-Identifier: 0BSD */
#include "target.h"

/*
 * Functions from float32 to int8: output = levels[how many keys the number has reached].
 *
 * keys: rising patterns of floats as integers with a sign, those of negative ones with the bits below the sign inverted; one
 *   that no number reaches behind them. levels: one more than keys.
 * low: the number of the lowest cell; a number is in the cell of its whole part, times 2^bits. firsts: of each cell how many keys its
 *   lowest number has reached (arithmetic/staircase.py).
 */
#if !AIDGE_CORTEXM_FPU
/* The C version of the generated functions; `last` is that of the cells. */
AIDGE_CORTEXM_C void aidge_cortexm_staircase(const float *input, int8_t *output, const int32_t *keys, const int8_t *levels,
                                             const int32_t *low, const uint16_t *firsts, int32_t count, int32_t bits, int32_t last)
{
    const float least = (float)low[0], most = least + (float)last;
    float scale = 1.0f;
    for (; bits > 0; bits--) {
        scale *= 2.0f;
    }
    for (; count > 0; count--) {
        const float number = *input++;
        const float scaled = number * scale;
        int32_t cell = 0, key, place;
        (void)memcpy(&key, &number, sizeof key);
        key ^= key < 0 ? 0x7FFFFFFF : 0;
        if (scaled >= most) {
            cell = last;
        } else if (scaled > least) {
            cell = (int32_t)scaled - low[0];
        } else {
            /* the first cell */
        }
        place = firsts[cell];
        while (key >= keys[place]) {
            place++;
        }
        *output++ = levels[place];
    }
}
#endif
