/* SPDX-License-Identifier: 0BSD */
#include "mean.h"
#include "pool_part.h"
#include "wide.h"

/*
 * Means of int8 values, taken in part by part in the order in which float32 adds them up: `count` chains, pixel i in chain
 * i % count; then the chains are added one after another, or with `in_lanes` the 4 chains as (0 + 2) + (1 + 3), and then the
 * values left over. The scratch holds int32 [count][channels].
 */
typedef struct {
    aidge_kit_part part;
    int32_t count, in_lanes;
} aidge_kit_chains;

/* The pixels of a part that belong to one chain: the first of them, counted in the part, and how many. */
typedef struct {
    int32_t first, count;
} aidge_kit_links;

/* Up to this pixel of the map there are chains. */
AIDGE_KIT_INLINE int32_t aidge_kit_end_of_chains(const aidge_kit_chains *chains)
{
    return chains->in_lanes != 0 ? chains->part.all / 4 * 4 : chains->part.all;
}

static inline aidge_kit_links aidge_kit_links_of(int32_t chain, const aidge_kit_chains *chains)
{
    const aidge_kit_part *const part = &chains->part;
    const int32_t end = aidge_kit_end_of_chains(chains) - part->before;
    const int32_t last = part->pixels < end ? part->pixels : end;
    const int32_t place = chain - aidge_kit_modulo(part->before, chains->count);
    aidge_kit_links links;
    links.first = place < 0 ? place + chains->count : place;
    links.count = links.first < last ? aidge_kit_divide(last - links.first + chains->count - 1, chains->count) : 0;
    return links;
}

/* The pixels of a part that come after the chains. */
static inline aidge_kit_links aidge_kit_links_left_over(const aidge_kit_chains *chains)
{
    const int32_t end = aidge_kit_end_of_chains(chains) - chains->part.before;
    aidge_kit_links links;
    links.first = end < 0 ? 0 : end;
    links.count = chains->part.pixels - links.first;
    links.count = links.count < 0 ? 0 : links.count;
    return links;
}

/* Whether the chains end in this part. */
AIDGE_KIT_INLINE int32_t aidge_kit_ends_chains(const aidge_kit_chains *chains)
{
    const int32_t end = aidge_kit_end_of_chains(chains);
    return (chains->part.before < end) && (end <= chains->part.before + chains->part.pixels);
}

#if defined(__GNUC__) && !defined(AIDGE_WITHOUT_ASSEMBLY) && defined(__arm__) && defined(__ARM_FP) && (__ARM_FP & 4)
AIDGE_KIT_INLINE aidge_kit_sum aidge_kit_kept_sum(int32_t kept)
{
    return aidge_kit_float(&kept);
}

AIDGE_KIT_INLINE int32_t aidge_kit_keep_sum(aidge_kit_sum sum)
{
    int32_t kept;
    (void)memcpy(&kept, &sum, sizeof kept);
    return kept;
}
#else
/* A sum has 24 bits that may differ from 0, and ends in less than 32 zeros: 32 * bits + zeros. */
static inline aidge_kit_sum aidge_kit_kept_sum(int32_t kept)
{
    const int32_t zeros = (int32_t)((uint32_t)kept & 31u);
    const int32_t bits = (kept - zeros) / 32;
    const int64_t magnitude = (int64_t)aidge_kit_shift_left((uint64_t)(bits < 0 ? -bits : bits), zeros);
    return bits < 0 ? -magnitude : magnitude;
}

static inline int32_t aidge_kit_keep_sum(aidge_kit_sum sum)
{
    const uint64_t magnitude = (uint64_t)(sum < 0 ? -sum : sum);
    const int32_t excess = aidge_kit_bits_u64(magnitude) - 24;
    const int32_t zeros = excess > 0 ? excess : 0;
    const int32_t bits = (int32_t)aidge_kit_shift_right(magnitude, zeros);
    return (sum < 0 ? -bits : bits) * 32 + zeros;
}
#endif

/* Adds up the chains of each channel in the first of them. */
AIDGE_KIT_NOINLINE void aidge_kit_join_chains(int32_t *kept, const aidge_kit_chains *chains)
{
    const int32_t channels = chains->part.channels;
    int32_t channel, chain;
    for (channel = 0; channel < channels; channel++) {
        int32_t *const own = kept + channel;
        aidge_kit_sum sum = aidge_kit_kept_sum(own[0]);
        if (chains->in_lanes != 0) {
            const aidge_kit_sum odd = aidge_kit_add(aidge_kit_kept_sum(own[channels]), aidge_kit_kept_sum(own[3 * channels]));
            sum = aidge_kit_add(aidge_kit_add(sum, aidge_kit_kept_sum(own[2 * channels])), odd);
        } else {
            for (chain = 1; chain < chains->count; chain++) {
                sum = aidge_kit_add(sum, aidge_kit_kept_sum(own[chain * channels]));
            }
        }
        own[0] = aidge_kit_keep_sum(sum);
    }
}

/* The stored means, after the last part. */
AIDGE_KIT_NOINLINE void aidge_kit_means_of_chains(int8_t *output, const int32_t *kept, const int32_t *numbers,
                                                  const aidge_kit_part *part)
{
    int32_t channel;
    for (channel = 0; channel < part->channels; channel++) {
        const int32_t level = aidge_kit_level_of_sum(aidge_kit_kept_sum(kept[channel]), part->all, numbers);
        output[channel] = aidge_kit_stored_level(level, numbers);
    }
}
