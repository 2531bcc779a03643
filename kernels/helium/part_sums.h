/* SPDX-License-Identifier: 0BSD */
#include "kit/inline.h"
#include "kit/pool_part.h"
#include "pixel_sums.h"

/* Adds pixels to the sums of 8 channels each, the last of which may be none: int16, of at most 255 pixels, or where `is_wide`
 * int32, in assembly those of channels 0, 2, 4, 6 before 1, 3, 5, 7. */
static inline void aidge_helium_add_pixels(const int8_t *x, void *scratch, const aidge_kit_part *part, int32_t is_wide)
{
    const int32_t channels = part->channels;
    int32_t channel;
    aidge_kit_begin_part(scratch, (channels + 7) / 8 * (is_wide != 0 ? 32 : 16), part);
#if AIDGE_HELIUM_ASSEMBLY
    for (channel = 0; (channel + 8 <= channels) && (is_wide == 0); channel += 8) {
        int16_t *const sums = (int16_t *)scratch + channel;
        vstrhq_s16(sums, aidge_helium_add_8_to(vldrhq_s16(sums), x + channel, part->pixels, channels));
    }
    for (; channel < channels; channel += 8) {
        const mve_pred16_t mask = vctp16q((uint32_t)(channels - channel));
        const int8_t *pixel = x + channel;
        int32_t left, room;
        for (left = part->pixels; left > 0; left -= room) {
            int16x8_t some;
            room = left < 255 ? left : 255;
            some = channel + 8 <= channels ? aidge_helium_add_8(pixel, room, channels)
                                           : aidge_helium_add_up_to_8(pixel, room, channels, mask);
            pixel += room * channels;
            if (is_wide != 0) {
                int32_t *const sums = (int32_t *)scratch + channel;
                vstrwq_s32(sums, vaddq_s32(vldrwq_s32(sums), vmovlbq_s16(some)));
                vstrwq_s32(sums + 4, vaddq_s32(vldrwq_s32(sums + 4), vmovltq_s16(some)));
            } else {
                int16_t *const sums = (int16_t *)scratch + channel;
                vstrhq_s16(sums, vaddq_s16(vldrhq_s16(sums), some));
            }
        }
    }
#else
    for (channel = 0; channel < channels; channel++) {
        int32_t sum = 0, pixel;
        for (pixel = 0; pixel < part->pixels; pixel++) {
            sum += x[pixel * channels + channel];
        }
        if (is_wide != 0) {
            ((int32_t *)scratch)[channel] += sum;
        } else {
            int16_t *const sums = (int16_t *)scratch + channel;
            *sums = (int16_t)(*sums + sum);
        }
    }
#endif
}

/* Where the int32 sum of a channel lies. */
AIDGE_KIT_INLINE int32_t aidge_helium_place_of_sum(int32_t channel)
{
#if AIDGE_HELIUM_ASSEMBLY
    return (channel & ~7) + (channel & 1) * 4 + (channel & 7) / 2;
#else
    return channel;
#endif
}
