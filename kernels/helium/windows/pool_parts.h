/* SPDX-License-Identifier: 0BSD */
#include "kit/mean_chains.h"
#include "pixel_sums.h"

/* Adds the values of a part to the sums of their channels. */
static inline void aidge_helium_add_pixels(const int8_t *input, int32_t *sums, const aidge_kit_part *part)
{
    const int32_t channels = part->channels;
    int32_t channel;
    for (channel = 0; channel < channels; channel += 8) {
        const mve_pred16_t mask = vctp16q((uint32_t)(channels - channel));
        const int8_t *pixel = input + channel;
        int32_t left, room, lane;
        for (left = part->pixels; left > 0; left -= room) {
            int16_t some[8];
            room = left < 255 ? left : 255; /* whose sums fit int16 */
            if (channel + 8 <= channels) {
                const int16x8_t whole = aidge_helium_add_8(pixel, room, channels);
                int32x4x2_t kept = vld2q_s32(sums + channel);
                kept.val[0] = vaddq_s32(kept.val[0], vmovlbq_s16(whole));
                kept.val[1] = vaddq_s32(kept.val[1], vmovltq_s16(whole));
                vst2q_s32(sums + channel, kept);
            } else {
                vstrhq_s16(some, aidge_helium_add_up_to_8(pixel, room, channels, mask));
                for (lane = 0; channel + lane < channels; lane++) {
                    sums[channel + lane] += some[lane];
                }
            }
            pixel += room * channels;
        }
    }
}

/* Replaces the largest value of each channel by a larger one of a part. */
static inline void aidge_helium_add_largest(const int8_t *input, int8_t *largest, const aidge_kit_part *part)
{
    const int32_t channels = part->channels;
    int32_t channel, pixel;
    for (channel = 0; channel < channels; channel += 16) {
        const mve_pred16_t mask = vctp8q((uint32_t)(channels - channel));
        const int8_t *source = input + channel;
        int8x16_t most = vldrbq_z_s8(largest + channel, mask);
        for (pixel = part->pixels; pixel > 0; pixel--) {
            most = vmaxq_s8(most, vldrbq_z_s8(source, mask));
            source += channels;
        }
        vstrbq_p_s8(largest + channel, most, mask);
    }
}

/* Adds these pixels, `step` bytes apart, to a sum of each channel; each term and each sum is rounded. */
AIDGE_KIT_NOINLINE void aidge_helium_add_links(const int8_t *input, int32_t *kept, aidge_kit_links links, int32_t step,
                                               const int32_t *numbers, int32_t channels)
{
    const int8_t *const source = input + links.first * channels;
    int32_t channel;
    if (links.count <= 0) {
        return;
    }
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
}
