/* SPDX-License-Identifier: 0BSD */
#include "core/target.h"

/* Images of three planes of bytes to pixels of three channels: four pixels are three words. */
static void aidge_cortexm_pixels_of_planes(const void *input, void *output, int32_t images, int32_t pixels)
{
    const uint8_t *first = (const uint8_t *)input;
    uint8_t *to = (uint8_t *)output;
    for (; images > 0; images--) {
        const uint8_t *second = first + pixels;
        const uint8_t *third = second + pixels;
        int32_t left;
        for (left = pixels; left >= 4; left -= 4) {
            const uint32_t x = aidge_cortexm_load(first);
            const uint32_t y = aidge_cortexm_load(second);
            const uint32_t z = aidge_cortexm_load(third);
            const uint32_t begins = (x & 0x00FF00FFu) | ((y & 0x00FF00FFu) << 8); /* x0 y0, x2 y2 */
            const uint32_t middles = (z & 0x00FF00FFu) | (x & 0xFF00FF00u);       /* z0 x1, z2 x3 */
            const uint32_t ends = ((y >> 8) & 0x00FF00FFu) | (z & 0xFF00FF00u);   /* y1 z1, y3 z3 */
            aidge_cortexm_store(to, (begins & 0xFFFFu) | (middles << 16));
            aidge_cortexm_store(to + 4, (ends & 0xFFFFu) | (begins & 0xFFFF0000u));
            aidge_cortexm_store(to + 8, (middles >> 16) | (ends & 0xFFFF0000u));
            first += 4;
            second += 4;
            third += 4;
            to += 12;
        }
        for (; left > 0; left--) {
            *to++ = *first++;
            *to++ = *second++;
            *to++ = *third++;
        }
        first = third;
    }
}
