/* SPDX-License-Identifier: 0BSD */
#include "kit/pool_part.h"
#include "pixel_sums.h"

/*
 * Sums of a map of at most 255 pixels: of each 4 channels two words, as in lanes.h, then a word for each channel left over.
 */
static inline void aidge_cortexm_add_pixels(const int8_t *input, uint32_t *sums, const aidge_kit_part *part)
{
    const int32_t channels = part->channels;
    int32_t channel, pixel;
    aidge_kit_begin_part(sums, (channels / 4 * 2 + channels % 4) * 4, part);
    for (channel = channels; channel >= 8; channel -= 8) {
        const int8_t *source = input;
        uint32_t even = sums[0];
        uint32_t odd = sums[1];
        uint32_t next_even = sums[2];
        uint32_t next_odd = sums[3];
        for (pixel = part->pixels; pixel > 0; pixel--) {
            const uint32_t word = aidge_cortexm_load(source);
            const uint32_t next = aidge_cortexm_load(source + 4);
            source += channels;
            AIDGE_CORTEXM_ADD_PIXEL(word);
            next_even = aidge_cortexm_add_even_bytes(next_even, next);
            next_odd = aidge_cortexm_add_odd_bytes(next_odd, next);
        }
        sums[0] = even;
        sums[1] = odd;
        sums[2] = next_even;
        sums[3] = next_odd;
        sums += 4;
        input += 8;
    }
    for (; channel >= 4; channel -= 4) {
        const int8_t *source = input;
        uint32_t even = sums[0];
        uint32_t odd = sums[1];
        for (pixel = part->pixels; pixel > 0; pixel--) {
            const uint32_t word = aidge_cortexm_load(source);
            source += channels;
            AIDGE_CORTEXM_ADD_PIXEL(word);
        }
        sums[0] = even;
        sums[1] = odd;
        sums += 2;
        input += 4;
    }
    for (; channel > 0; channel--) {
        int32_t sum = (int32_t)*sums;
        for (pixel = 0; pixel < part->pixels; pixel++) {
            sum += input[pixel * channels];
        }
        *sums++ = (uint32_t)sum;
        input++;
    }
}

/* The same of any map, int32 [channels]. */
static inline void aidge_cortexm_add_pixels_wide(const int8_t *input, int32_t *sums, const aidge_kit_part *part)
{
    const int32_t channels = part->channels;
    int32_t channel, pixel;
    aidge_kit_begin_part(sums, channels * 4, part);
    for (channel = channels; channel >= 4; channel -= 4) {
        int32_t some[4];
        aidge_cortexm_sums_of_4(input, part->pixels, channels, some);
        sums[0] += some[0];
        sums[1] += some[1];
        sums[2] += some[2];
        sums[3] += some[3];
        sums += 4;
        input += 4;
    }
    for (; channel > 0; channel--) {
        for (pixel = 0; pixel < part->pixels; pixel++) {
            *sums += input[pixel * channels];
        }
        sums++;
        input++;
    }
}

/* The sum of a channel among those of aidge_cortexm_add_pixels. */
AIDGE_CORTEXM_INLINE int32_t aidge_cortexm_sum_of(const uint32_t *sums, int32_t channel, int32_t channels)
{
    const int32_t groups = channels / 4;
    const int32_t place = channel - 4 * groups;
    const uint32_t word = sums[place < 0 ? channel / 4 * 2 + (channel & 1) : 2 * groups + place];
    return place >= 0 ? (int32_t)word : (channel & 2) != 0 ? aidge_cortexm_high(word) : aidge_cortexm_low(word);
}

/* The same among those of aidge_cortexm_add_pixels_wide. */
AIDGE_CORTEXM_INLINE int32_t aidge_cortexm_sum_of_wide(const int32_t *sums, int32_t channel, int32_t channels)
{
    (void)channels;
    return sums[channel];
}
