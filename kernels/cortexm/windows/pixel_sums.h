/* SPDX-License-Identifier: 0BSD */
#include "core/lanes.h"

#define AIDGE_CORTEXM_MOST_PIXELS 255 /* whose sums fit int16 */

/* Bytes 0 and 2, and 1 and 3, of a pixel's word are added to the two words of sums. */
#define AIDGE_CORTEXM_ADD_PIXEL(word) \
    even = aidge_cortexm_add_even_bytes(even, word); \
    odd = aidge_cortexm_add_odd_bytes(odd, word)

/* The sums of four channels over `pixels` pixels that lie `channels` bytes apart. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_sums_of_4(const int8_t *source, int32_t pixels, int32_t channels, int32_t *sums)
{
    int32_t left = pixels;
    sums[0] = sums[1] = sums[2] = sums[3] = 0;
    while (left > 0) {
        int32_t count = left < AIDGE_CORTEXM_MOST_PIXELS ? left : AIDGE_CORTEXM_MOST_PIXELS;
        uint32_t even = 0;
        uint32_t odd = 0;
        left -= count;
        for (; count >= 3; count -= 3) {
            const uint32_t word = aidge_cortexm_load(source);
            const uint32_t next = aidge_cortexm_load(source + channels);
            const uint32_t last = aidge_cortexm_load(source + 2 * channels);
            source += 3 * channels;
            AIDGE_CORTEXM_ADD_PIXEL(word);
            AIDGE_CORTEXM_ADD_PIXEL(next);
            AIDGE_CORTEXM_ADD_PIXEL(last);
        }
        for (; count > 0; count--) {
            const uint32_t word = aidge_cortexm_load(source);
            source += channels;
            AIDGE_CORTEXM_ADD_PIXEL(word);
        }
        sums[0] += aidge_cortexm_low(even);
        sums[1] += aidge_cortexm_low(odd);
        sums[2] += aidge_cortexm_high(even);
        sums[3] += aidge_cortexm_high(odd);
    }
}
