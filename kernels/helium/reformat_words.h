/* SPDX-License-Identifier: 0BSD */
#include "strided_words.h"

/* Images of `channels` planes of `pixels` words to pixels of all channels, or back. */
static void aidge_helium_reformat_words(const float *input, float *output, int32_t batches, int32_t channels, int32_t pixels,
                                        int32_t to_planes)
{
    int32_t channel;
    for (; batches > 0; batches--) {
        for (channel = 0; channel < channels; channel++) {
            if (to_planes != 0) {
                aidge_helium_strided_words(output + channel * pixels, 1, input + channel, channels, pixels);
            } else {
                aidge_helium_strided_words(output + channel, channels, input + channel * pixels, 1, pixels);
            }
        }
        input += channels * pixels;
        output += channels * pixels;
    }
}
