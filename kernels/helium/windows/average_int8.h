/* SPDX-License-Identifier: 0BSD */
#include "average_lanes.h"

/* The mean over all pixels, int8, channels last; numbers as in kit/average.h. */
static void aidge_helium_average_int8(const int8_t *x, int8_t *y, const int32_t *numbers, int32_t batches, int32_t pixels,
                                      int32_t channels)
{
    for (; batches > 0; batches--) {
        int32_t channel;
        for (channel = 0; channel < channels; channel += 8) {
            const mve_pred16_t mask = vctp16q((uint32_t)(channels - channel));
            const int8_t *pixel = x + channel;
            int32x4_t even = vdupq_n_s32(0), odd = even;
            int32_t room, left;
            for (left = pixels; left > 0; left -= room) {
                int16x8_t sums;
                room = left < 255 ? left : 255;
                sums = channel + 8 <= channels ? aidge_helium_add_8(pixel, room, channels)
                                               : aidge_helium_add_up_to_8(pixel, room, channels, mask);
                even = vaddq_s32(even, vmovlbq_s16(sums));
                odd = vaddq_s32(odd, vmovltq_s16(sums));
                pixel += room * channels;
            }
            even = aidge_helium_averages(even, numbers);
            odd = aidge_helium_averages(odd, numbers);
            vstrbq_p_s16(y + channel, vmovntq_s32(vreinterpretq_s16_s32(even), odd), mask);
        }
        x += pixels * channels;
        y += channels;
    }
}
