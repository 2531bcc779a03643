/* SPDX-License-Identifier: 0BSD */
#include "kit/mean_chains.h"

/* Adds these pixels, `step` values apart, to a sum of each channel. */
static inline void aidge_ref_add_links(const int8_t *input, int32_t *kept, aidge_kit_links links, int32_t step,
                                       const int32_t *numbers, const aidge_kit_part *part)
{
    const int8_t *source = input + links.first * part->channels;
    int32_t channel;
    for (channel = 0; (links.count > 0) && (channel < part->channels); channel++) {
        kept[channel] = aidge_kit_keep_sum(
            aidge_kit_add_values(aidge_kit_kept_sum(kept[channel]), source + channel, step, links.count, numbers));
    }
}

/* Part of the mean over the whole map, int8, channels last, in the order of mean_chains.h; numbers as in mean.h. */
static void aidge_ref_mean_chains_int8(const int8_t *input, int8_t *output, void *scratch, const int32_t *numbers,
                                       const aidge_kit_chains *chains)
{
    const aidge_kit_part *const part = &chains->part;
    int32_t *const kept = (int32_t *)scratch;
    int32_t chain;
    aidge_kit_begin_part(kept, chains->count * part->channels * 4, part);
    for (chain = 0; chain < chains->count; chain++) {
        aidge_ref_add_links(input, kept + chain * part->channels, aidge_kit_links_of(chain, chains),
                            chains->count * part->channels, numbers, part);
    }
    if (aidge_kit_ends_chains(chains) != 0) {
        aidge_kit_join_chains(kept, chains);
    }
    aidge_ref_add_links(input, kept, aidge_kit_links_left_over(chains), part->channels, numbers, part);
    if (part->is_last != 0) {
        aidge_kit_means_of_chains(output, kept, numbers, part);
    }
}
