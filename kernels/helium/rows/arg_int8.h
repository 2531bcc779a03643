/* SPDX-License-Identifier: 0BSD */
#include "core/helium.h"

#if !AIDGE_HELIUM_ASSEMBLY
/* The index of the largest channel of each pixel, the first of equal ones. */
static void aidge_helium_argmax_int8_c(const int8_t *input, int64_t *output, int32_t pixels, int32_t channels)
{
    for (; pixels > 0; pixels--) {
        int32_t place = 0;
        int32_t channel;
        for (channel = 1; channel < channels; channel++) {
            place = input[channel] > input[place] ? channel : place;
        }
        *output++ = place;
        input += channels;
    }
}
#endif
