/* SPDX-License-Identifier: 0BSD */
#include "strided_bytes.h"

/* Images of `channels` planes of `pixels` bytes to pixels of all channels, or back. */
static void aidge_helium_reformat(const void *source, void *target, int32_t batches, int32_t channels, int32_t pixels,
                                  int32_t to_planes)
{
    const int8_t *input = (const int8_t *)source;
    int8_t *output = (int8_t *)target;
    int32_t channel;
    for (; batches > 0; batches--) {
        for (channel = 0; channel < channels; channel++) {
            if (to_planes != 0) {
                aidge_helium_strided_bytes(output + channel * pixels, 1, input + channel, channels, pixels);
            } else {
                aidge_helium_strided_bytes(output + channel, channels, input + channel * pixels, 1, pixels);
            }
        }
        input += channels * pixels;
        output += channels * pixels;
    }
}
