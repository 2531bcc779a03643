/* SPDX-License-Identifier: 0BSD */
#include "kit/mean_chains.h"

/* Adds the values of a part to the sums of their channels. */
static inline void aidge_ref_add_pixels(const int8_t *input, int32_t *sums, const aidge_kit_part *part)
{
    int32_t pixel, channel;
    for (pixel = part->pixels; pixel > 0; pixel--) {
        for (channel = 0; channel < part->channels; channel++) {
            sums[channel] += *input++;
        }
    }
}

/* Adds these pixels, `step` values apart, to a sum of each channel. */
static inline void aidge_ref_add_links(const int8_t *input, int32_t *kept, aidge_kit_links links, int32_t step,
                                       const int32_t *numbers, int32_t channels)
{
    const int8_t *source = input + links.first * channels;
    int32_t channel;
    for (channel = 0; (links.count > 0) && (channel < channels); channel++) {
        kept[channel] = aidge_kit_keep_sum(
            aidge_kit_add_values(aidge_kit_kept_sum(kept[channel]), source + channel, step, links.count, numbers));
    }
}

/* Replaces the largest value of each channel by a larger one of a part. */
static inline void aidge_ref_add_largest(const int8_t *input, int8_t *largest, const aidge_kit_part *part)
{
    int32_t channel, pixel;
    for (channel = 0; channel < part->channels; channel++) {
        const int8_t *value = input + channel;
        for (pixel = part->pixels; pixel > 0; pixel--) {
            largest[channel] = *value > largest[channel] ? *value : largest[channel];
            value += part->channels;
        }
    }
}
