/* SPDX-License-Identifier: 0BSD */
#include "kit/rounding.h"
#include "lanes.h"

typedef struct {
    int32_t batches, pixels, channels;
} aidge_cortexm_mean;

#define AIDGE_CORTEXM_MOST_PIXELS 255 /* whose sums fit int16 */

/*
 * The mean over all pixels, int8, channels last, at least 4 channels.
 *
 * rescale: as in rounding.h; levels: {lowest, highest, zero point} of the output, pixels * zero point of the input.
 * The generator has proved the result equal to the real formula for every sum that can occur.
 */
static void aidge_cortexm_mean_int8(const int8_t *input, int8_t *output, const int64_t *rescale, const int32_t *levels,
                                    const aidge_cortexm_mean *shape)
{
    const int32_t channels = shape->channels;
    int32_t batch, channel;
    for (batch = 0; batch < shape->batches; batch++) {
        for (channel = 0; channel < channels; channel += 4) {
            const int32_t place = channel + 4 <= channels ? channel : channels - 4; /* the last 4 overlap those before */
            const int8_t *source = input + place;
            int32_t sums[4] = {0, 0, 0, 0};
            int32_t left = shape->pixels;
            int32_t i;
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
                    even = aidge_cortexm_add_even_bytes(even, word);
                    odd = aidge_cortexm_add_odd_bytes(odd, word);
                    even = aidge_cortexm_add_even_bytes(even, next);
                    odd = aidge_cortexm_add_odd_bytes(odd, next);
                    even = aidge_cortexm_add_even_bytes(even, last);
                    odd = aidge_cortexm_add_odd_bytes(odd, last);
                }
                for (; count > 0; count--) {
                    const uint32_t word = aidge_cortexm_load(source);
                    source += channels;
                    even = aidge_cortexm_add_even_bytes(even, word);
                    odd = aidge_cortexm_add_odd_bytes(odd, word);
                }
                sums[0] += aidge_cortexm_low(even);
                sums[1] += aidge_cortexm_low(odd);
                sums[2] += aidge_cortexm_high(even);
                sums[3] += aidge_cortexm_high(odd);
            }
            for (i = 0; i < 4; i++) {
                output[place + i] = aidge_kit_saturate(aidge_kit_rescale(sums[i] - levels[3], rescale), levels);
            }
        }
        input += shape->pixels * channels;
        output += channels;
    }
}
