/* SPDX-License-Identifier: 0BSD */
#include "kit/mean_chains.h"
#include "pixel_sums.h"

/* Adds the values of a part to the sums of their channels. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_add_pixels(const int8_t *input, int32_t *sums, const aidge_kit_part *part)
{
    const int32_t channels = part->channels;
    int32_t channel, pixel;
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

/* Replaces the largest value of each channel by a larger one of a part; at least 4 channels. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_add_largest(const int8_t *input, int8_t *largest, const aidge_kit_part *part)
{
    int32_t channel, pixel;
    for (channel = 0; channel < part->channels; channel += 4) {
        const int32_t place = channel + 4 <= part->channels ? channel : part->channels - 4; /* the last 4 overlap those before */
        const int8_t *source = input + place;
        uint32_t most = aidge_cortexm_load(largest + place);
        for (pixel = part->pixels; pixel > 0; pixel--) {
            most = aidge_cortexm_larger_bytes(most, aidge_cortexm_load(source));
            source += part->channels;
        }
        aidge_cortexm_store(largest + place, most);
    }
}

#if AIDGE_CORTEXM_FPU
/* Adds `count` pixels, `step` bytes apart, to the sums of 4 channels; each term and each sum is rounded. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_add_links_of_4(const int8_t *source, int32_t step, int32_t count, int32_t *kept,
                                                       const int32_t *numbers)
{
    float sum[4];
    uint32_t word, even, odd;
    (void)memcpy(sum, kept, sizeof sum);
    __asm__ volatile("1:\n\t"
                     "ldr %[word], [%[source]]\n\t"
                     "add %[source], %[source], %[step]\n\t"
                     "sxtab %[even], %[zero], %[word]\n\t"
                     "sxtab %[odd], %[zero], %[word], ror #8\n\t"
                     "vmov s28, s29, %[even], %[odd]\n\t"
                     "sxtab %[even], %[zero], %[word], ror #16\n\t"
                     "sxtab %[odd], %[zero], %[word], ror #24\n\t"
                     "vmov s30, s31, %[even], %[odd]\n\t"
                     "vcvt.f32.s32 s28, s28\n\t"
                     "vcvt.f32.s32 s29, s29\n\t"
                     "vcvt.f32.s32 s30, s30\n\t"
                     "vcvt.f32.s32 s31, s31\n\t"
                     "vmul.f32 s28, s28, %[scale]\n\t"
                     "vmul.f32 s29, s29, %[scale]\n\t"
                     "vmul.f32 s30, s30, %[scale]\n\t"
                     "vmul.f32 s31, s31, %[scale]\n\t"
                     "vadd.f32 %[a], %[a], s28\n\t"
                     "vadd.f32 %[b], %[b], s29\n\t"
                     "vadd.f32 %[c], %[c], s30\n\t"
                     "vadd.f32 %[d], %[d], s31\n\t"
                     "subs %[count], %[count], #1\n\t"
                     "bne 1b"
                     : [a] "+&t"(sum[0]), [b] "+&t"(sum[1]), [c] "+&t"(sum[2]), [d] "+&t"(sum[3]), [source] "+&r"(source),
                       [count] "+&r"(count), [word] "=&r"(word), [even] "=&r"(even), [odd] "=&r"(odd)
                     : [step] "r"(step), [zero] "r"(-AIDGE_KIT_MEAN_INPUT_ZERO(numbers)),
                       [scale] "t"(aidge_kit_float(numbers + AIDGE_KIT_MEAN_INPUT_SCALE))
                     : "cc", "memory", "s28", "s29", "s30", "s31");
    (void)memcpy(kept, sum, sizeof sum);
}
#endif

/* Adds these pixels, `step` bytes apart, to a sum of each channel. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_add_links(const int8_t *input, int32_t *kept, aidge_kit_links links, int32_t step,
                                                    const int32_t *numbers, int32_t channels)
{
    const int8_t *const source = input + links.first * channels;
    int32_t channel = 0;
    if (links.count <= 0) {
        return;
    }
#if AIDGE_CORTEXM_FPU
    for (; channel + 4 <= channels; channel += 4) {
        aidge_cortexm_add_links_of_4(source + channel, step, links.count, kept + channel, numbers);
    }
#endif
    for (; channel < channels; channel++) {
        kept[channel] = aidge_kit_keep_sum(
            aidge_kit_add_values(aidge_kit_kept_sum(kept[channel]), source + channel, step, links.count, numbers));
    }
}
