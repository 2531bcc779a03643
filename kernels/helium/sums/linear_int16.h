/* SPDX-License-Identifier: 0BSD */
#include "columns_int16.h"
#include "levels_int16.h"

#if !AIDGE_HELIUM_ASSEMBLY
/* The C version of sums_int16.py. */
static void aidge_helium_sums_int16(const int16_t *x, const int16_t *other, const int8_t *stream, int16_t *first, int16_t *second,
                                    const int8_t *end, int32_t taps, int32_t pixels, int32_t low, int32_t high, int32_t zero_point)
{
    for (; stream != end; stream += 32 + 4 * taps) {
        int32_t channel, pixel, tap;
        for (channel = 0; channel < 4; channel++) {
            for (pixel = 0; pixel < pixels; pixel++) {
                const int16_t *const data = pixel != 0 ? other : x;
                uint32_t sum = (uint32_t)aidge_helium_word(stream + 4 * channel);
                for (tap = 0; tap < taps; tap++) {
                    const int32_t begin = tap & ~7;
                    const int32_t together = taps - begin < 8 ? taps - begin : 8;
                    sum += (uint32_t)(data[tap] * stream[16 + 4 * begin + channel * together + tap - begin]);
                }
                (pixel != 0 ? second : first)[channel] = aidge_helium_level_int16(
                    (int32_t)sum, aidge_helium_float(stream + 16 + 4 * taps + 4 * channel), low, high, zero_point);
            }
        }
        first += 4;
        second += 4;
    }
}
#endif
