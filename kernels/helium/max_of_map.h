/* SPDX-License-Identifier: 0BSD */
#include "kit/inline.h"
#include "mve.h"

/* The largest value of each channel over a map of `pixels`. */
static void aidge_helium_max_of_map(const int8_t *x, int8_t *y, const int8_t *levels, int32_t batches, int32_t pixels,
                                    int32_t channels)
{
    for (; batches > 0; batches--) {
        int32_t channel, pixel;
#if AIDGE_HELIUM_ASSEMBLY
        for (channel = 0; channel < channels; channel += 16) {
            const mve_pred16_t mask = vctp8q((uint32_t)(channels - channel));
            const int8_t *tap = x + channel;
            int8x16_t largest = vdupq_n_s8(levels[0]);
            for (pixel = pixels; pixel > 0; pixel--) {
                largest = vmaxq_m_s8(largest, largest, vldrbq_z_s8(tap, mask), mask);
                tap += channels;
            }
            vstrbq_p_s8(y + channel, vminq_s8(largest, vdupq_n_s8(levels[1])), mask);
        }
#else
        for (channel = 0; channel < channels; channel++) {
            int8_t largest = levels[0];
            for (pixel = 0; pixel < pixels; pixel++) {
                largest = x[pixel * channels + channel] > largest ? x[pixel * channels + channel] : largest;
            }
            y[channel] = largest < levels[1] ? largest : levels[1];
        }
#endif
        x += pixels * channels;
        y += channels;
    }
}
