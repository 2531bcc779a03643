/* SPDX-License-Identifier: 0BSD */
#include "dynamic_data.h"

/* Little-endian numbers in a stream, which is aligned to four bytes only. */
AIDGE_KIT_INLINE int32_t aidge_helium_word(const int8_t *stream)
{
    int32_t word;
    (void)memcpy(&word, stream, sizeof word);
    return word;
}

AIDGE_KIT_INLINE float aidge_helium_float(const int8_t *stream)
{
    float number;
    (void)memcpy(&number, stream, sizeof number);
    return number;
}

/* Numbers of pairs of channels that depend on the data, of the stream that begins with the weights of the first pair: int32 {sums of
 * the weights times the zero point}, float {factors times the scale}, of both channels. */
AIDGE_KIT_INLINE void aidge_helium_prepare(const int8_t *pair, int32_t weight_bytes, int32_t *prepared, const aidge_helium_data *data)
{
    int32_t step, channel;
    do {
        const int8_t *const found = pair + weight_bytes;
        for (channel = 0; channel < 2; channel++) {
            const float factor = aidge_helium_float(found + 16 + 4 * channel) * data->scale;
            prepared[channel] = (int32_t)((uint32_t)aidge_helium_word(found + 8 + 4 * channel) * (uint32_t)data->zero_point);
            (void)memcpy(&prepared[2 + channel], &factor, sizeof factor);
        }
        step = aidge_helium_word(found + 32);
        pair = found + 36;
        prepared += 4;
    } while (step != 0);
}
