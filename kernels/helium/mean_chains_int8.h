/* SPDX-License-Identifier: 0BSD */
#include "kit/mean_chains.h"
#include "mve.h"

/* Adds these pixels, `step` bytes apart, to a sum of each channel; each term and each sum is rounded. */
AIDGE_KIT_NOINLINE void aidge_helium_add_links(const int8_t *input, int32_t *kept, aidge_kit_links links, int32_t step,
                                               const int32_t *numbers, int32_t channels)
{
    const int8_t *const source = input + links.first * channels;
    int32_t channel;
    if (links.count <= 0) {
        return;
    }
#if AIDGE_HELIUM_ASSEMBLY
    for (channel = 0; channel < channels; channel += 4) {
        const mve_pred16_t mask = vctp32q((uint32_t)(channels - channel));
        const int8_t *pixel = source + channel;
        float32x4_t sums = vreinterpretq_f32_s32(vldrwq_z_s32(kept + channel, mask));
        int32_t left;
        for (left = links.count; left > 0; left--) {
            float32x4_t term = vcvtq_f32_s32(vsubq_n_s32(vldrbq_z_s32(pixel, mask), AIDGE_KIT_MEAN_INPUT_ZERO(numbers)));
            /* As assembly: the compiler would fuse the product with the sum, and round once. */
            __asm__("vmul.f32 %q[term], %q[term], %[scale]"
                    : [term] "+w"(term)
                    : [scale] "r"(numbers[AIDGE_KIT_MEAN_INPUT_SCALE]));
            sums = vaddq_f32(sums, term);
            pixel += step;
        }
        vstrwq_p_s32(kept + channel, vreinterpretq_s32_f32(sums), mask);
    }
#else
    for (channel = 0; channel < channels; channel++) {
        kept[channel] = aidge_kit_keep_sum(
            aidge_kit_add_values(aidge_kit_kept_sum(kept[channel]), source + channel, step, links.count, numbers));
    }
#endif
}

/* Part of the mean over the whole map, int8, channels last, in the order of mean_chains.h; numbers as in mean.h. */
static void aidge_helium_mean_chains_int8(const int8_t *x, int8_t *y, void *scratch, const int32_t *numbers,
                                          const aidge_kit_chains *chains)
{
    const aidge_kit_part *const part = &chains->part;
    const int32_t channels = part->channels;
    int32_t *const kept = (int32_t *)scratch;
    int32_t chain;
    aidge_kit_begin_part(kept, chains->count * channels * 4, part);
    for (chain = 0; chain < chains->count; chain++) {
        aidge_helium_add_links(x, kept + chain * channels, aidge_kit_links_of(chain, chains), chains->count * channels, numbers,
                               channels);
    }
    if (aidge_kit_ends_chains(chains) != 0) {
        aidge_kit_join_chains(kept, chains);
    }
    aidge_helium_add_links(x, kept, aidge_kit_links_left_over(chains), channels, numbers, channels);
    if (part->is_last != 0) {
        aidge_kit_means_of_chains(y, kept, numbers, part);
    }
}
